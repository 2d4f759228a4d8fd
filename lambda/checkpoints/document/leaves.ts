import { types } from 'node:util';
import { type Doc, damaged, type List, MAX_DIGITS } from './document.ts';

type BytesClass = { prototype: object; new (buffer: ArrayBuffer): object };

const BYTES = new Map<string, BytesClass>();
for (const name of [
  'Int8',
  'Uint8',
  'Uint8Clamped',
  'Int16',
  'Uint16',
  'Int32',
  'Uint32',
  'Float16',
  'Float32',
  'Float64',
])
  addBytesClass(`${name}Array`);
for (const name of ['BigInt64Array', 'BigUint64Array', 'DataView']) addBytesClass(name);

function addBytesClass(name: string): void {
  // Node 22 has no Float16Array.
  const found = (globalThis as unknown as Record<string, BytesClass | undefined>)[name];
  if (found) BYTES.set(name, found);
}

/** The parts of the `$` node for a date, regular expression, URL or bytes; undefined for any other value. */
export function leafParts(value: object): List | undefined {
  const proto: unknown = Object.getPrototypeOf(value);
  if (types.isDate(value)) {
    const ms = value.getTime();
    return proto === Date.prototype ? ['date', Number.isNaN(ms) ? null : ms] : undefined;
  }
  if (types.isRegExp(value)) return proto === RegExp.prototype ? ['regexp', value.source, value.flags] : undefined;
  if (proto === URL.prototype && value instanceof URL) return ['url', value.href];
  if (ArrayBuffer.isView(value)) {
    const name = Buffer.isBuffer(value) ? 'Buffer' : bytesName(proto);
    return name === undefined ? undefined : ['bytes', name, base64(value.buffer, value.byteOffset, value.byteLength)];
  }
  if (types.isArrayBuffer(value) && proto === ArrayBuffer.prototype) return ['bytes', 'ArrayBuffer', base64(value)];
  return undefined;
}

/** The value for parts from `leafParts`; undefined for other parts. */
export function leafValue([tag, first, second]: List): unknown {
  try {
    if (tag === 'date') return new Date(first === null ? Number.NaN : number(first));
    if (tag === 'bigint' && string(first).length <= MAX_DIGITS) return BigInt(string(first));
    if (tag === 'regexp') return new RegExp(string(first), string(second));
    if (tag === 'url') return new URL(string(first));
    if (tag === 'bytes') return bytesValue(string(first), string(second));
  } catch (cause) {
    throw damaged(`it has a ${tag} that cannot be read`, cause);
  }
  return undefined;
}

function bytesValue(name: string, text: string): object {
  // Copied, because Buffer.from may return a view of a pool that other buffers share.
  const { buffer } = new Uint8Array(Buffer.from(text, 'base64'));
  if (name === 'ArrayBuffer') return buffer;
  if (name === 'Buffer') return Buffer.from(buffer);
  const Bytes = BYTES.get(name);
  if (!Bytes) throw new TypeError(`this version of Node.js has no ${name}`);
  return new Bytes(buffer);
}

function bytesName(proto: unknown): string | undefined {
  for (const [name, Bytes] of BYTES) if (Bytes.prototype === proto) return name;
  return undefined;
}

function base64(buffer: ArrayBufferLike, offset = 0, length = buffer.byteLength): string {
  return Buffer.from(buffer as ArrayBuffer, offset, length).toString('base64');
}

function string(part: Doc | undefined): string {
  if (typeof part === 'string') return part;
  throw new TypeError('expected a string');
}

function number(part: Doc | undefined): number {
  if (typeof part === 'number') return part;
  throw new TypeError('expected a number');
}
