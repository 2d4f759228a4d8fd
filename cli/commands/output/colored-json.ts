import { dim, type Line, styled, type TextSpan } from '../../terminal/line.ts';

/** Colors one line of indented JSON. */
export function coloredJson(line: string): Line {
  const [, indent = '', key = '', value = '', end = ''] = /^(\s*)("(?:[^"\\]|\\.)*": )?(.*?)(,?)$/.exec(line) ?? [];
  return [indent, ...(key ? [styled('cyan', key.slice(0, -2)), ': '] : []), valueText(value), dim(end)];
}

function valueText(value: string): TextSpan {
  if (value.startsWith('"')) return styled('green', value);
  if (/^(true|false|null)$/.test(value)) return styled('magenta', value);
  return /^-?\d/.test(value) ? styled('yellow', value) : value;
}
