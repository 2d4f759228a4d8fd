import { type Line, lineWidth, styled, type TextSpan, toSpans } from './line.ts';

/** Wraps a line between words and keeps its styles; continuation lines are indented. */
export function wrapLine(line: Line, columns: number, indent = 2): readonly Line[] {
  if (lineWidth(line) <= columns) return [line];
  const lines: TextSpan[][] = [[]];
  let remaining = columns;
  for (const { word, space } of splitWords(line)) {
    const width = lineWidth(word);
    if (width + space > remaining && remaining < columns) {
      lines.push([' '.repeat(indent)]);
      remaining = columns - indent;
    }
    const isFirst = remaining === columns || remaining === columns - indent;
    lines.at(-1)?.push(...(isFirst && lines.length > 1 ? [] : [' '.repeat(space)]), word);
    remaining -= width + space;
  }
  return lines;
}

/** The words of a line, each with its style and the number of spaces before it. */
function splitWords(line: Line): readonly { readonly word: TextSpan; readonly space: number }[] {
  let space = 0;
  return toSpans(line).flatMap((span) => {
    const text = typeof span === 'string' ? span : span.text;
    return [...text.matchAll(/( *)([^ ]*)/g)].flatMap(([, spaces = '', word = '']) => {
      space += spaces.length;
      if (word === '') return [];
      const before = space;
      space = 0;
      return [{ word: typeof span === 'string' ? word : styled(span.style, word), space: before }];
    });
  });
}
