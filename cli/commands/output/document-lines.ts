import { show } from '../../../lambda/checkpoints/documents.ts';
import { type Doc, type Fields, isFields, isList, specialOf } from '../../../lambda/checkpoints/engine.ts';
import { dim, type Line, toSpans, truncate, wrapText } from '../../terminal/line.ts';

/** Formats a document for people, with one key or item on each line, and at most `maxLines` lines. */
export function documentLines(doc: Doc, columns: number, maxLines = 20): readonly Line[] {
  const lines = linesOf(doc, columns);
  if (lines.length <= maxLines) return lines;
  return [...lines.slice(0, maxLines - 1), dim(`… ${lines.length - maxLines + 1} more lines`)];
}

function linesOf(doc: Doc, columns: number): readonly Line[] {
  if (typeof doc === 'string') return wrapText(doc, columns);
  if (isList(doc) && doc.length > 0) return doc.flatMap((item) => listItemLines(linesOf(item, columns - 2)));
  if (isObject(doc)) {
    const short = Object.keys(doc).filter((key) => key.length <= MAX_KEY_LENGTH);
    const widest = Math.max(0, ...short.map((key) => key.length)) + 1;
    return Object.entries(doc).flatMap(([key, value]) => fieldLines(key, widest, value, columns));
  }
  return [truncate(show(doc), columns)];
}

const MAX_KEY_LENGTH = 20;

const isObject = (doc: Doc): doc is Fields =>
  isFields(doc) && specialOf(doc) === undefined && Object.keys(doc).length > 0;

/** An item of a list, with a dash before its first line and the others indented. */
const listItemLines = (lines: readonly Line[]): readonly Line[] =>
  lines.map((line, i) => [i === 0 ? dim('- ') : '  ', ...toSpans(line)]);

/** A field: a value of one line next to its key, anything else below it. */
function fieldLines(key: string, width: number, value: Doc, columns: number): readonly Line[] {
  const inner = linesOf(value, columns - 2);
  const [first = ''] = inner;
  const isLeaf = inner.length === 1 && !isObject(value) && !(isList(value) && value.length > 0);
  if (isLeaf) return [truncate([dim(key.padEnd(width)), ' ', ...toSpans(first)], columns)];
  return [dim(key), ...inner.map((line) => ['  ', ...toSpans(line)])];
}
