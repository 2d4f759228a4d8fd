import { show } from '../../../lambda/checkpoints/documents.ts';
import type { Doc } from '../../../lambda/checkpoints/engine.ts';
import { dim, type Line, lineWidth, type Style, styled, toSpans } from '../../terminal/line.ts';
import { documentLines } from './document-lines.ts';

// Longer lines are hard to read, even on a wide terminal.
const MAX_WIDTH = 160;
const MAX_LINES = 40;

const STYLES: Readonly<Record<'+' | '-', Style>> = { '+': 'green', '-': 'red' };

/** A value that was added or removed: next to its path if it fits on the line, otherwise below it. */
export function addedOrRemovedLines(sign: '+' | '-', path: string, value: Doc, columns: number): readonly Line[] {
  const style = STYLES[sign];
  const head = [styled(style, `${sign} `), pathName(path)];
  const text = toSingleLine(value);
  if (text !== undefined && lineWidth(head) + 2 + lineWidth(text) <= Math.min(columns, MAX_WIDTH))
    return [[...head, '  ', styled(style, text)]];
  return [head, ...valueLines(sign, value, columns)];
}

/** A changed value: on one line if it fits, otherwise the old value above the new one. */
export function changedLines(path: string, before: Doc, after: Doc, columns: number): readonly Line[] {
  const head = [styled('yellow', '~ '), pathName(path)];
  const [old, now] = [toSingleLine(before), toSingleLine(after)];
  if (old !== undefined && now !== undefined) {
    const line = [...head, '  ', styled('red', old), dim(' → '), styled('green', now)];
    if (lineWidth(line) <= Math.min(columns, MAX_WIDTH)) return [line];
  }
  const { first, last } = commonLines(before, after);
  const part = (value: Doc): Doc =>
    typeof value === 'string'
      ? value
          .split('\n')
          .slice(first, value.split('\n').length - last)
          .join('\n')
      : value;
  return [
    [...head, ...(first > 0 ? [dim(`  from line ${first + 1}`)] : [])],
    ...valueLines('-', part(before), columns),
    ...valueLines('+', part(after), columns),
  ];
}

const pathName = (path: string): string => path || '(the state)';

/** How many lines two texts have in common at the start and at the end. */
function commonLines(before: Doc, after: Doc): { readonly first: number; readonly last: number } {
  if (typeof before !== 'string' || typeof after !== 'string') return { first: 0, last: 0 };
  const [a, b] = [before.split('\n'), after.split('\n')];
  const maxCommon = Math.min(a.length, b.length) - 1;
  let first = 0;
  while (first < maxCommon && a[first] === b[first]) first++;
  let last = 0;
  while (last < maxCommon - first && a.at(-1 - last) === b.at(-1 - last)) last++;
  return { first, last };
}

const valueLines = (sign: '+' | '-', value: Doc, columns: number): readonly Line[] =>
  documentLines(value, Math.min(columns, MAX_WIDTH) - 4, MAX_LINES).map((line) => [
    styled(STYLES[sign], `  ${sign} `),
    ...toSpans(line).map((span) => (typeof span === 'string' ? styled(STYLES[sign], span) : span)),
  ]);

/** A value on one line; undefined if it has several lines or is too long. */
function toSingleLine(value: Doc): string | undefined {
  if (typeof value === 'string') return value.includes('\n') ? undefined : JSON.stringify(value);
  const text = show(value);
  return text.endsWith('…') ? undefined : text;
}
