import { type Line, lineWidth, styled, type TextSpan, toSpans } from './line.ts';

/** A sentence over as many lines as it takes, broken between words; what is below is indented. */
export function wrapLine(line: Line, columns: number, indent = 2): readonly Line[] {
  if (lineWidth(line) <= columns) return [line];
  const lines: TextSpan[][] = [[]];
  let room = columns;
  for (const { word, space } of wordsOf(line)) {
    const width = lineWidth(word);
    if (width + space > room && room < columns) {
      lines.push([' '.repeat(indent)]);
      room = columns - indent;
    }
    const isFirst = room === columns || room === columns - indent;
    lines.at(-1)?.push(...(isFirst && lines.length > 1 ? [] : [' '.repeat(space)]), word);
    room -= width + space;
  }
  return lines;
}

/** The words of a line, each in its style, and how many spaces are before it. */
function wordsOf(line: Line): readonly { readonly word: TextSpan; readonly space: number }[] {
  let space = 0;
  return toSpans(line).flatMap((piece) => {
    const text = typeof piece === 'string' ? piece : piece.text;
    return [...text.matchAll(/( *)([^ ]*)/g)].flatMap(([, spaces = '', word = '']) => {
      space += spaces.length;
      if (word === '') return [];
      const before = space;
      space = 0;
      return [{ word: typeof piece === 'string' ? word : styled(piece.style, word), space: before }];
    });
  });
}
