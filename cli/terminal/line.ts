import type { styleText } from 'node:util';
import stringWidth from 'string-width';
import { escapeControls } from './escape-controls.ts';

export type Style = Parameters<typeof styleText>[0];

/** Text in a style. Only a terminal makes escape sequences of it, so that stored text never brings its own. */
export interface StyledText {
  readonly style: Style;
  readonly text: string;
}

export type TextSpan = string | StyledText;

/** What is on one line. */
export type Line = TextSpan | readonly TextSpan[];

/** Makes a style visible. */
export type Paint = (style: Style, text: string) => string;

export const styled = (style: Style, text: string): StyledText => ({ style, text });
export const bold = (text: string): StyledText => styled('bold', text);
export const dim = (text: string): StyledText => styled('dim', text);

const isTextSpan = (line: Line): line is TextSpan => typeof line === 'string' || 'text' in line;

export const toSpans = (line: Line): readonly TextSpan[] => (isTextSpan(line) ? [line] : line);

const textOf = (span: TextSpan): string => escapeControls(typeof span === 'string' ? span : span.text);

/** A line as the terminal gets it. */
export const render = (line: Line, paint: Paint): string =>
  toSpans(line)
    .map((span) => (typeof span === 'string' ? textOf(span) : paint(span.style, textOf(span))))
    .join('');

/** How many columns text takes, once it is made safe. */
const textWidth = (text: string): number => (/^[ -~]*$/.test(text) ? text.length : stringWidth(text));

/** How many columns a line takes. */
export const lineWidth = (line: Line): number => toSpans(line).reduce((sum, span) => sum + textWidth(textOf(span)), 0);

/** A line in so many columns: what is longer ends in an ellipsis. */
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

/** A line of exactly so many columns. */
export function pad(line: Line, columns: number, align: 'left' | 'right' = 'left'): Line {
  const text = truncate(line, columns);
  const space = ' '.repeat(Math.max(0, columns - lineWidth(text)));
  return align === 'left' ? [...toSpans(text), space] : [space, ...toSpans(text)];
}

/** A line without the spaces behind its last word. */
export function trimLineEnd(line: Line): Line {
  const pieces = toSpans(line);
  return pieces.slice(0, pieces.findLastIndex((span) => textOf(span).trim() !== '') + 1);
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** As much of a text as fits, without half of a character. */
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

/** Text over as many lines as it takes, broken between words where there are any. */
export function wrapText(text: string, columns: number): readonly string[] {
  return text.split(/\r?\n/).flatMap((paragraph) => wrapParagraph(escapeControls(paragraph), Math.max(8, columns)));
}

function wrapParagraph(text: string, columns: number): readonly string[] {
  if (textWidth(text) <= columns) return [text];
  // What is below stays in line with what it belongs to.
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

/** A word in pieces that fit, found in one go: it may be as long as a state is. */
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
