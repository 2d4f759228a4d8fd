import { type Doc, type Fields, isFields, isList, type List, specialOf } from '../../checkpoints/engine.ts';
import { type Html, html } from '../markup.ts';
import { plainText, userText } from '../text.ts';

const MAX_COLUMNS = 6;
const MAX_CELL_CHARACTERS = 120;

/** The columns of a list of similar, short and flat objects; undefined if a table does not fit. */
export function tableColumns(list: List): readonly string[] | undefined {
  if (list.length < 2) return undefined;
  const columns = new Set<string>();
  let filled = 0;
  for (const item of list) {
    if (!isFields(item) || Object.hasOwn(item, '$') || !Object.values(item).every(isShort)) return undefined;
    for (const key of Object.keys(item)) columns.add(key);
    if (columns.size > MAX_COLUMNS) return undefined;
    filled += Object.keys(item).length;
  }
  // If most cells would be empty, a table does not fit.
  return columns.size > 0 && filled * 2 >= list.length * columns.size ? [...columns] : undefined;
}

function isShort(doc: Doc): boolean {
  if (typeof doc === 'string') return doc.length <= MAX_CELL_CHARACTERS && !doc.includes('\n');
  if (typeof doc !== 'object' || doc === null) return true;
  const special = specialOf(doc);
  return typeof special === 'string' || (isList(special) && SHORT_TAGS.has(special[0] ?? null));
}

const SHORT_TAGS: ReadonlySet<Doc> = new Set(['date', 'bigint', 'url', 'regexp']);

/** Renders rows as a table. ARIA roles are explicit, since narrow screens show rows as cards. */
export function showTable(
  columns: readonly string[],
  rows: List,
  cell: (doc: Doc, row: number, key: string) => Html,
): Html {
  const isNumber = (column: string) => rows.every((row) => typeof ((row as Fields)[column] ?? 0) === 'number');
  const head = columns.map(
    (column) =>
      html`<th role="columnheader" scope="col"${isNumber(column) && html` class="number"`}>${userText(column)}</th>`,
  );
  const body = rows.map((row, i) => {
    const cells = columns.map((column) => tableCell(row as Fields, column, (doc) => cell(doc, i, column)));
    return html`<tr role="row">${cells}</tr>`;
  });
  return html`<table class="records" role="table">
<thead role="rowgroup"><tr role="row">${head}</tr></thead>
<tbody role="rowgroup">${body}</tbody>
</table>`;
}

function tableCell(row: Fields, column: string, show: (doc: Doc) => Html): Html {
  const doc = Object.hasOwn(row, column) ? row[column] : undefined;
  return html`<td role="cell" data-label="${plainText(column)}"${typeof doc === 'number' && html` class="number"`}>${
    doc === undefined ? html`<span class="quiet">–</span>` : show(doc)
  }</td>`;
}
