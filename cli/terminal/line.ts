import type { styleText } from 'node:util';
import stringWidth from 'string-width';
import { escapeControls } from './escape-controls.ts';

export type Style = Parameters<typeof styleText>[0];

/** Text in a style. Only the terminal turns it into escape sequences, so stored text can never contain its own. */
export interface StyledText {
  readonly style: Style;
  readonly text: string;
}

export type TextSpan = string | StyledText;

/** The content of one line. */
export type Line = TextSpan | readonly TextSpan[];

/** Applies a style to text. */
export type Paint = (style: Style, text: string) => string;

export const styled = (style: Style, text: string): StyledText => ({ style, text });
export const bold = (text: string): StyledText => styled('bold', text);
export const dim = (text: string): StyledText => styled('dim', text);

const isTextSpan = (line: Line): line is TextSpan => typeof line === 'string' || 'text' in line;

export const toSpans = (line: Line): readonly TextSpan[] => (isTextSpan(line) ? [line] : line);

const textOf = (span: TextSpan): string => escapeControls(typeof span === 'string' ? span : span.text);

/** Renders a line for the terminal. */
export const render = (line: Line, paint: Paint): string =>
  toSpans(line)
    .map((span) => (typeof span === 'string' ? textOf(span) : paint(span.style, textOf(span))))
    .join('');

/** The width of escaped text, in columns. */
const textWidth = (text: string): number => (/^[ -~]*$/.test(text) ? text.length : stringWidth(text));

/** The width of a line, in columns. */
export const lineWidth = (line: Line): number => toSpans(line).reduce((sum, span) => sum + textWidth(textOf(span)), 0);

/** Cuts a line to a number of columns; a line that is cut ends in an ellipsis. */
export function truncate(line: Line, columns: number): Line {
  if (lineWidth(line) <= columns) return line;
  let remaining = columns - 1;
  const kept: TextSpan[] = [];
  for (const span of toSpans(line)) {
    const cut = truncateText(textOf(span), remaining);
    remaining -= textWidth(cut);
    const isLast = cut !== textOf(span);
    const text = isLast && columns > 0 ? `${cut}…` : cut;
    kept.push(typeof span === 'string' ? text : styled(span.style, text));
    if (isLast) break;
  }
  return kept;
}

/** Cuts or pads a line to exactly this number of columns. */
export function pad(line: Line, columns: number, align: 'left' | 'right' = 'left'): Line {
  const text = truncate(line, columns);
  const space = ' '.repeat(Math.max(0, columns - lineWidth(text)));
  return align === 'left' ? [...toSpans(text), space] : [space, ...toSpans(text)];
}

/** Removes the spaces at the end of a line. */
export function trimLineEnd(line: Line): Line {
  const pieces = toSpans(line);
  return pieces.slice(0, pieces.findLastIndex((span) => textOf(span).trim() !== '') + 1);
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Cuts text between graphemes. */
function truncateText(text: string, columns: number): string {
  let cut = '';
  let remaining = columns;
  for (const { segment } of graphemes.segment(text)) {
    remaining -= textWidth(segment);
    if (remaining < 0) return cut;
    cut += segment;
  }
  return cut;
}

/** Wraps text between words; words that are longer than a line are split. */
export function wrapText(text: string, columns: number): readonly string[] {
  return text.split(/\r?\n/).flatMap((paragraph) => wrapParagraph(escapeControls(paragraph), Math.max(8, columns)));
}

function wrapParagraph(text: string, columns: number): readonly string[] {
  if (textWidth(text) <= columns) return [text];
  // Continuation lines keep the indentation of the first line.
  const indent = (/^ */.exec(text)?.[0] ?? '').slice(0, columns - 8);
  const remaining = columns - indent.length;
  const lines: string[] = [];
  let line = '';
  for (const word of text.slice(indent.length).split(' ')) {
    let rest = line === '' ? word : `${line} ${word}`;
    if (line !== '' && textWidth(rest) > remaining) {
      lines.push(line);
      rest = word;
    }
    const pieces = splitToWidth(rest, remaining);
    line = pieces.pop() ?? '';
    for (const span of pieces) lines.push(span);
  }
  lines.push(line);
  return lines.map((each) => indent + each);
}

/** Splits a word into parts of at most `columns`, in one pass, because the word may be a whole state. */
function splitToWidth(word: string, columns: number): string[] {
  if (textWidth(word) <= columns) return [word];
  const pieces: string[] = [];
  let span = '';
  let remaining = columns;
  const widths = new Map<string, number>();
  for (const { segment } of graphemes.segment(word)) {
    const width = widths.get(segment) ?? textWidth(segment);
    widths.set(segment, width);
    if (width > remaining && span !== '') {
      pieces.push(span);
      span = '';
      remaining = columns;
    }
    span += segment;
    remaining -= width;
  }
  return [...pieces, span];
}
