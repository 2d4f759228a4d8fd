import type { Comparison } from './compare.ts';
import { type Doc, isContainer, isFields, isList, type List, specialOf, verbatimPart } from './document.ts';

const MAX_CHARACTERS = 80;

/** A comparison as lines of text: `+` added, `-` removed, `~` changed. */
export function render({ added, removed, changed }: Comparison): string {
  const lines = [
    ...added.map(({ at, path, value }) => ({ at, line: `+ ${path}  ${show(value)}` })),
    ...removed.map(({ at, path, value }) => ({ at, line: `- ${path}  ${show(value)}` })),
    ...changed.map(({ at, path, before, after }) => ({ at, line: `~ ${path}  ${show(before)} → ${show(after)}` })),
  ];
  if (lines.length === 0) return '(no difference)';
  return lines
    .sort((a, b) => a.at - b.at)
    .map(({ line }) => line)
    .join('\n');
}

/** A document on one line, truncated if it is long. */
export function show(doc: Doc): string {
  const text = write(doc, MAX_CHARACTERS);
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 1)}…` : text;
}

/** `maxCharacters` stops the work on a large document early, because the text is truncated anyway. */
function write(doc: Doc, maxCharacters: number): string {
  if (typeof doc === 'string') return JSON.stringify(doc.slice(0, maxCharacters + 1));
  if (!isContainer(doc)) return String(doc);
  const special = specialOf(doc);
  if (typeof special === 'string') return special;
  if (isList(special))
    return verbatimPart(special[0]) === 1
      ? writeFields(special[1], maxCharacters)
      : writeSpecial(special, maxCharacters);
  return isList(doc) ? `[${writeAll(doc, write, maxCharacters)}]` : writeFields(doc, maxCharacters);
}

function writeFields(doc: Doc | undefined, maxCharacters: number): string {
  const fields = isFields(doc) ? doc : {};
  const field = (key: string, left: number) =>
    `${/^[\w$]+$/.test(key) ? key : JSON.stringify(key)}: ${write(fields[key] ?? null, left)}`;
  const body = writeAll(Object.keys(fields), field, maxCharacters);
  return body === '' ? '{}' : `{ ${body} }`;
}

function writeAll<T>(
  items: readonly T[],
  text: (item: T, maxCharacters: number) => string,
  maxCharacters: number,
): string {
  let out = '';
  for (const item of items) {
    if (out.length > maxCharacters) break;
    out += (out === '' ? '' : ', ') + text(item, maxCharacters - out.length);
  }
  return out;
}

function writeSpecial([tag, first = null, second = null, third = null]: List, maxCharacters: number): string {
  switch (tag) {
    case 'date':
      return typeof first === 'number' && Math.abs(first) <= 8.64e15 ? new Date(first).toISOString() : 'Invalid Date';
    case 'bigint':
      return `${first}n`;
    case 'regexp':
      return `/${first}/${second}`;
    case 'url':
      return String(first);
    case 'map':
    case 'set':
      return `${tag === 'map' ? 'Map' : 'Set'}(${isList(first) ? first.length : 0})`;
    case 'bytes':
      return `${first}(${elements(String(first), Buffer.byteLength(String(second), 'base64'))})`;
    case 'error':
      return `${first}: ${second}`;
    case 'class':
      return `${first} ${write(second, maxCharacters)}`;
    case 'payload':
      return `payload ${first} (${third} bytes)`;
    case 'shared':
      return write(second, maxCharacters);
    case 'ref':
      return `(object ${first} again)`;
    default:
      return write(first, maxCharacters);
  }
}

const elements = (name: string, bytes: number): number => bytes / (Number(/\d+/.exec(name)?.[0] ?? 8) / 8);
