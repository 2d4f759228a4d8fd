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

const isPiece = (line: Line): line is TextSpan => typeof line === 'string' || 'text' in line;

export const toSpans = (line: Line): readonly TextSpan[] => (isPiece(line) ? [line] : line);

const textOf = (piece: TextSpan): string => escapeControls(typeof piece === 'string' ? piece : piece.text);

/** A line as the terminal gets it. */
export const render = (line: Line, paint: Paint): string =>
  toSpans(line)
    .map((piece) => (typeof piece === 'string' ? textOf(piece) : paint(piece.style, textOf(piece))))
    .join('');

/** How many columns text takes, once it is made safe. */
const columnsOf = (text: string): number => (/^[ -~]*$/.test(text) ? text.length : stringWidth(text));

/** How many columns a line takes. */
export const lineWidth = (line: Line): number =>
  toSpans(line).reduce((sum, piece) => sum + columnsOf(textOf(piece)), 0);

/** A line in so many columns: what is longer ends in an ellipsis. */
export function truncate(line: Line, columns: number): Line {
  if (lineWidth(line) <= columns) return line;
  let room = columns - 1;
  const kept: TextSpan[] = [];
  for (const piece of toSpans(line)) {
    const cut = cutTo(textOf(piece), room);
    room -= columnsOf(cut);
    const isLast = cut !== textOf(piece);
    const text = isLast && columns > 0 ? `${cut}…` : cut;
    kept.push(typeof piece === 'string' ? text : styled(piece.style, text));
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
  return pieces.slice(0, pieces.findLastIndex((piece) => textOf(piece).trim() !== '') + 1);
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** As much of a text as fits, without half of a character. */
function cutTo(text: string, columns: number): string {
  let cut = '';
  let room = columns;
  for (const { segment } of graphemes.segment(text)) {
    room -= columnsOf(segment);
    if (room < 0) return cut;
    cut += segment;
  }
  return cut;
}

/** Text over as many lines as it takes, broken between words where there are any. */
export function wrapText(text: string, columns: number): readonly string[] {
  return text.split(/\r?\n/).flatMap((paragraph) => wrapParagraph(escapeControls(paragraph), Math.max(8, columns)));
}

function wrapParagraph(text: string, columns: number): readonly string[] {
  if (columnsOf(text) <= columns) return [text];
  // What is below stays in line with what it belongs to.
  const indent = (/^ */.exec(text)?.[0] ?? '').slice(0, columns - 8);
  const room = columns - indent.length;
  const lines: string[] = [];
  let line = '';
  for (const word of text.slice(indent.length).split(' ')) {
    let rest = line === '' ? word : `${line} ${word}`;
    if (line !== '' && columnsOf(rest) > room) {
      lines.push(line);
      rest = word;
    }
    const pieces = piecesIn(rest, room);
    line = pieces.pop() ?? '';
    for (const piece of pieces) lines.push(piece);
  }
  lines.push(line);
  return lines.map((each) => indent + each);
}

/** A word in pieces that fit, found in one go: it may be as long as a state is. */
function piecesIn(word: string, columns: number): string[] {
  if (columnsOf(word) <= columns) return [word];
  const pieces: string[] = [];
  let piece = '';
  let room = columns;
  const widths = new Map<string, number>();
  for (const { segment } of graphemes.segment(word)) {
    const width = widths.get(segment) ?? columnsOf(segment);
    widths.set(segment, width);
    if (width > room && piece !== '') {
      pieces.push(piece);
      piece = '';
      room = columns;
    }
    piece += segment;
    room -= width;
  }
  return [...pieces, piece];
}
