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

const MOST_ITEMS = 50;
// What is further down is folded, and below that written as JSON: a page must end.
const MOST_LEVELS = 5;
const DEEPEST = 25;

/** A document as people read it: objects as tables, text as text, `$` nodes as what they stand for. */
export function showDocument(doc: Doc, showing: ShowOptions = {}, place: DocumentPosition = ROOT_POSITION): Html {
  if (typeof doc === 'string') return showText(doc, place.level === 0);
  if (typeof doc !== 'object' || doc === null) return html`<span class="value">${String(doc)}</span>`;
  // What only looks like a cut is shown as it is written.
  const cut = typeof partOf(doc, 'cut', 2) === 'number' ? parseTruncation(doc) : undefined;
  if (cut) return showCut(cut, showing, place);
  if (place.level >= DEEPEST) return collapsed('What is further down', codeBlock(JSON.stringify(doc)));
  const special = specialOf(doc);
  if (special !== undefined) return showSpecial(doc, special, { showing, place, show: showDocument, showFields });
  const size = isList(doc) ? doc.length : Object.keys(doc).length;
  if (size === 0) return html`<span class="quiet">(empty ${isList(doc) ? 'list' : 'object'})</span>`;
  const content = () => (isList(doc) ? showList(doc, showing, place) : showFields(doc as Fields, showing, place));
  if (place.level === 0 || place.level % MOST_LEVELS > 0) return content();
  const label = isList(doc) ? pluralize(size, 'item') : pluralize(size, 'field');
  return collapsed(label, content());
}

// Lambda gives no more than 6 MB for a whole page.
const MOST_MARKUP = 1_500_000;
const LEAST_BYTES = 1024;

/** As much of a document as has its place on a page, in bytes and in markup: of a number there is twenty times as much. */
export function showTruncated(
  doc: Doc,
  bytes: number,
  showing: ShowOptions = {},
  place: DocumentPosition = ROOT_POSITION,
): Html {
  const shown = showDocument(truncateToBytes(doc, bytes).value, showing, place);
  const fits = shown.length <= MOST_MARKUP || bytes < LEAST_BYTES;
  const share = Math.min(0.5, MOST_MARKUP / shown.length);
  return fits ? shown : showTruncated(doc, Math.floor(bytes * share), showing, place);
}

function showCut({ kind, size, shown }: Truncation, showing: ShowOptions, place: DocumentPosition): Html {
  const there = place.from + sizeOfShown(shown);
  const unit = kind === 'text' ? 'character' : kind === 'object' ? 'field' : 'item';
  const rest = size - there;
  return html`${showDocument(shown, showing, place)}${rest > 0 && moreLink(showing, place, there, pluralize(rest, unit))}`;
}

function sizeOfShown(shown: Doc): number {
  if (typeof shown === 'string' || isList(shown)) return shown.length;
  const special = specialOf(shown);
  // An object that has a key `$` is inside of a node.
  const fields = isList(special) ? special.findLast((part) => typeof part === 'object') : shown;
  return Object.keys(Object(fields)).length;
}

/** The fields of an object, each under its name. */
function showFields(fields: Fields, showing: ShowOptions, place: DocumentPosition): Html {
  return inPieces(Object.keys(fields), place, 'field', (keys) => {
    const rows = keys.map(
      (key) =>
        html`<div${isDeep(fields[key]) && html` class="deep"`}><dt>${key === '' ? html`<span class="quiet">(no name)</span>` : userText(key)}</dt><dd>${showDocument(fields[key] ?? null, showing, childPosition(place, key))}</dd></div>`,
    );
    return html`<dl class="fields">${rows}</dl>`;
  });
}

/** Whether a value needs more room than a line has. */
const isDeep = (doc: Doc | undefined): boolean =>
  typeof doc === 'string'
    ? doc.length > 60 || doc.includes('\n')
    : isContainer(doc) && typeof specialOf(doc) !== 'string';

function showList(list: List, showing: ShowOptions, place: DocumentPosition): Html {
  const columns = tableColumns(list);
  const item = (doc: Doc, i: number) => showDocument(doc, showing, childPosition(place, i));
  return inPieces(list, place, columns ? 'row' : 'item', (some, start) =>
    columns
      ? showTable(columns, some, (cell, row, key) =>
          showDocument(cell, showing, childPosition(place, start + row, key)),
        )
      : html`<ol class="items" start="${start + 1}">${some.map((doc, i) => html`<li>${item(doc, start + i)}</li>`)}</ol>`,
  );
}

/** The first of many, and the rest folded behind them. */
function inPieces<T>(
  all: readonly T[],
  { from }: DocumentPosition,
  one: string,
  show: (some: readonly T[], start: number) => Html,
): Html {
  // A few more than fit are no reason for a fold.
  if (all.length <= MOST_ITEMS * 1.2) return show(all, from);
  const rest = collapsed(
    `${pluralize(all.length - MOST_ITEMS, one)} more`,
    show(all.slice(MOST_ITEMS), from + MOST_ITEMS),
  );
  return html`${show(all.slice(0, MOST_ITEMS), from)}${rest}`;
}
