const MAX_DEPTH = 3;

/** A value as one short line for people: `booked: false, reason: too expensive`. Never reads more than it shows. */
export function oneLine(value: unknown, maxCharacters: number): string {
  if (maxCharacters <= 0) return '';
  // A character may have two code units.
  const text = write(value, 2 * maxCharacters + 2, 0)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  const characters = Array.from(text);
  return characters.length > maxCharacters ? `${characters.slice(0, maxCharacters - 1).join('')}…` : text;
}

function write(value: unknown, room: number, depth: number): string {
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return '';
  if (typeof value === 'string') return value.slice(0, room);
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof Error) return value.message.slice(0, room);
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (value instanceof Map || value instanceof Set) return `${value.size} items`;
  if (depth >= MAX_DEPTH) return '…';
  if (Array.isArray(value)) return `[${writeAll(value.keys(), room, (i) => write(value[i], room, depth + 1))}]`;
  const fields = value as Readonly<Record<string, unknown>>;
  const text = writeAll(Object.keys(fields), room, (key) => {
    const field = write(fields[key], room, depth + 1);
    return field === '' ? '' : `${key}: ${field}`;
  });
  return depth === 0 ? text : `{ ${text} }`;
}

function writeAll<Key>(keys: Iterable<Key>, room: number, writeOne: (key: Key) => string): string {
  let text = '';
  for (const key of keys) {
    if (text.length > room) break;
    const part = writeOne(key);
    if (part !== '') text += text === '' ? part : `, ${part}`;
  }
  return text;
}
