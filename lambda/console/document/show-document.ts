import { type Doc, type Fields, isContainer, isList, type List, partOf, specialOf } from '../../checkpoints/engine.ts';
import { parseTruncation, type Truncation, truncateToBytes } from '../../operator/truncated-document.ts';
import { type Html, html } from '../markup.ts';
import { userText } from '../text.ts';
import {
  childPosition,
  collapsed,
  type DocumentPosition,
  moreLink,
  pluralize,
  ROOT_POSITION,
  type ShowOptions,
} from './show-options.ts';
import { showSpecial } from './show-special.ts';
import { showTable, tableColumns } from './show-table.ts';
import { codeBlock, showText } from './show-text.ts';

const MAX_ITEMS = 50;
// Deeper levels are collapsed, and even deeper ones shown as JSON, to limit the size of a page.
const MAX_UNFOLDED_LEVELS = 5;
const MAX_LEVELS = 25;

/** Renders a document for people: objects as tables, text as text, `$` nodes as the values that they stand for. */
export function showDocument(doc: Doc, options: ShowOptions = {}, position: DocumentPosition = ROOT_POSITION): Html {
  if (typeof doc === 'string') return showText(doc, position.level === 0);
  if (typeof doc !== 'object' || doc === null) return html`<span class="value">${String(doc)}</span>`;
  // A node that only resembles a truncation is shown as written.
  const truncation = typeof partOf(doc, 'truncated', 2) === 'number' ? parseTruncation(doc) : undefined;
  if (truncation) return showTruncation(truncation, options, position);
  if (position.level >= MAX_LEVELS) return collapsed('Deeper levels', codeBlock(JSON.stringify(doc)));
  const special = specialOf(doc);
  if (special !== undefined) return showSpecial(doc, special, { options, position, show: showDocument, showFields });
  const size = isList(doc) ? doc.length : Object.keys(doc).length;
  if (size === 0) return html`<span class="quiet">(empty ${isList(doc) ? 'list' : 'object'})</span>`;
  const content = () => (isList(doc) ? showList(doc, options, position) : showFields(doc as Fields, options, position));
  if (position.level === 0 || position.level % MAX_UNFOLDED_LEVELS > 0) return content();
  const label = isList(doc) ? pluralize(size, 'item') : pluralize(size, 'field');
  return collapsed(label, content());
}

// A Lambda response is limited to 6 MB for the whole page.
const MAX_MARKUP_CHARACTERS = 1_500_000;
const MIN_BYTES = 1024;

/** Renders as much of a document as fits, in bytes and in markup, which can be twenty times as large. */
export function showTruncated(
  doc: Doc,
  bytes: number,
  options: ShowOptions = {},
  position: DocumentPosition = ROOT_POSITION,
): Html {
  const shown = showDocument(truncateToBytes(doc, bytes).value, options, position);
  const fits = shown.length <= MAX_MARKUP_CHARACTERS || bytes < MIN_BYTES;
  const share = Math.min(0.5, MAX_MARKUP_CHARACTERS / shown.length);
  return fits ? shown : showTruncated(doc, Math.floor(bytes * share), options, position);
}

function showTruncation({ kind, size, shown }: Truncation, options: ShowOptions, position: DocumentPosition): Html {
  const there = position.from + shownSize(shown);
  const unit = kind === 'text' ? 'character' : kind === 'object' ? 'field' : 'item';
  const rest = size - there;
  return html`${showDocument(shown, options, position)}${rest > 0 && moreLink(options, position, there, pluralize(rest, unit))}`;
}

function shownSize(shown: Doc): number {
  if (typeof shown === 'string' || isList(shown)) return shown.length;
  const special = specialOf(shown);
  // An object with its own key `$` is wrapped in a node.
  const fields = isList(special) ? special.findLast((part) => typeof part === 'object') : shown;
  return Object.keys(Object(fields)).length;
}

/** The fields of an object, with their names. */
function showFields(fields: Fields, options: ShowOptions, position: DocumentPosition): Html {
  return collapseRest(Object.keys(fields), position, 'field', (keys) => {
    const rows = keys.map(
      (key) =>
        html`<div${isDeep(fields[key]) && html` class="deep"`}><dt>${key === '' ? html`<span class="quiet">(empty key)</span>` : userText(key)}</dt><dd>${showDocument(fields[key] ?? null, options, childPosition(position, key))}</dd></div>`,
    );
    return html`<dl class="fields">${rows}</dl>`;
  });
}

/** Whether a value needs more than a line. */
const isDeep = (doc: Doc | undefined): boolean =>
  typeof doc === 'string'
    ? doc.length > 60 || doc.includes('\n')
    : isContainer(doc) && typeof specialOf(doc) !== 'string';

function showList(list: List, options: ShowOptions, position: DocumentPosition): Html {
  const columns = tableColumns(list);
  const item = (doc: Doc, i: number) => showDocument(doc, options, childPosition(position, i));
  return collapseRest(list, position, columns ? 'row' : 'item', (items, start) =>
    columns
      ? showTable(columns, items, (cell, row, key) =>
          showDocument(cell, options, childPosition(position, start + row, key)),
        )
      : html`<ol class="items" start="${start + 1}">${items.map((doc, i) => html`<li>${item(doc, start + i)}</li>`)}</ol>`,
  );
}

/** Shows the first items, and collapses the rest. */
function collapseRest<T>(
  all: readonly T[],
  { from }: DocumentPosition,
  one: string,
  show: (items: readonly T[], start: number) => Html,
): Html {
  // A few extra items are shown at once.
  if (all.length <= MAX_ITEMS * 1.2) return show(all, from);
  const rest = collapsed(
    pluralize(all.length - MAX_ITEMS, `more ${one}`),
    show(all.slice(MAX_ITEMS), from + MAX_ITEMS),
  );
  return html`${show(all.slice(0, MAX_ITEMS), from)}${rest}`;
}
