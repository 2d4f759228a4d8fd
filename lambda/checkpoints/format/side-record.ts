import type { ListEntries, StoredRecord } from '../../storage/ports.ts';
import { decodeOptions, EMPTY_CONTENT, encodeValues } from '../content.ts';
import type { RunContext } from '../context.ts';
import { decode } from '../document/decode.ts';
import { parse } from '../document/parse.ts';
import { payloadRefs } from '../document/payloads.ts';
import type { RunCipher } from '../encryption/run-cipher.ts';
import { readBytes, storeBytes } from '../payload/payload-bytes.ts';
import { damagedError, formatTooNew } from '../run-errors.ts';
import { compress, decompress } from './compression.ts';
import { encodeMeta, isUnreadable, readObjectMeta, type Segment } from './meta.ts';
import { randomId } from './records.ts';

/**
 * A side record of a run, such as an event or an approval. Its metadata can change; its value is written once,
 * encrypted if the run is, and stored as a payload if it is too large for a record.
 */
export async function sideRecord(
  at: RunContext,
  cipher: RunCipher,
  key: string,
  meta: object,
  value: unknown,
): Promise<StoredRecord> {
  const root = await encodeValues(at, cipher, EMPTY_CONTENT, { state: value });
  const bytes = compress(JSON.stringify(root.state), at.records.compressesSmallBodies);
  const ids = [...payloadRefs(root).keys()];
  if (bytes.length <= at.records.maxInlineBytes) {
    const body = cipher.encrypt(bytes, sideRecordAad(at, key));
    return toStoredRecord(at, key, { ...meta, ...(ids.length > 0 && { payloads: ids }) }, body);
  }
  const { id, sha256, size } = await storeBytes(at, cipher, bytes);
  return toStoredRecord(at, key, { ...meta, payloads: [...ids, id], value: [id, sha256, size] });
}

const sideRecordAad = ({ partition }: RunContext, key: string): string => `${partition}\n${key}`;

const toStoredRecord = (
  { partition }: { readonly partition: string },
  key: string,
  meta: object,
  body?: Uint8Array,
  lists?: ListEntries,
): StoredRecord => ({
  partition,
  key,
  revision: randomId(),
  meta: encodeMeta(meta),
  ...(body && { body }),
  ...(lists && { lists }),
});

/** A side record without a value. */
export const metaOnlyRecord = (at: { readonly partition: string }, key: string, meta: object, lists?: ListEntries) =>
  toStoredRecord(at, key, meta, undefined, lists);

/** The same side record with other metadata; its value stays. */
export function withMeta(record: StoredRecord, meta: object, lists?: ListEntries): StoredRecord {
  const { payloads, value } = sideMeta(record);
  return toStoredRecord(record, record.key, { ...meta, payloads, value }, record.body, lists);
}

/** The metadata of a side record; the caller checks its fields. */
export function sideMeta(record: StoredRecord): Readonly<Record<string, unknown>> {
  const meta = readObjectMeta(record.meta);
  if (!isUnreadable(meta)) return meta;
  const what = `Record ${record.key} of "${record.partition}"`;
  if ('newerFormat' in meta) throw formatTooNew(what, String(meta.newerFormat));
  throw damagedError(what, `its metadata is not what was written: ${meta.problem}`);
}

/** The ids of the payloads that a side record refers to. */
export function payloadIdsOf(record: StoredRecord): readonly string[] {
  const { payloads } = sideMeta(record);
  return Array.isArray(payloads) ? payloads : [];
}

/** The JSON text of a side record's value, as it was stored; undefined when it has none. */
export async function sideText(at: RunContext, cipher: RunCipher, record: StoredRecord): Promise<string | undefined> {
  const { value } = sideMeta(record);
  const [id, sha256, size] = (value ?? []) as Partial<Segment>;
  const bytes =
    id !== undefined && sha256 !== undefined && size !== undefined
      ? await readBytes(at, cipher, { id, sha256, size })
      : record.body && cipher.decrypt(record.body, sideRecordAad(at, record.key));
  try {
    return bytes && decompress(bytes);
  } catch (error) {
    throw unreadableValue(record, error);
  }
}

/** The value of a side record, deeply frozen. */
export async function sideValue(at: RunContext, cipher: RunCipher, record: StoredRecord): Promise<unknown> {
  const text = await sideText(at, cipher, record);
  if (text === undefined) return undefined;
  try {
    return decode(parse(text), decodeOptions(at, { cipher }));
  } catch (error) {
    throw unreadableValue(record, error);
  }
}

const unreadableValue = ({ partition, key }: StoredRecord, cause: unknown) =>
  damagedError(`Record ${key} of "${partition}"`, 'its value cannot be read', cause);

/** A small value as text for metadata, encrypted with the run's data key if there is one. */
export function encryptText(at: RunContext, cipher: RunCipher, aad: string, value: unknown): string {
  const text = JSON.stringify(value);
  return cipher.isEncrypted
    ? `~${Buffer.from(cipher.encrypt(Buffer.from(text), `${at.partition}\n${aad}`)).toString('base64url')}`
    : text;
}

/** The reverse of `encryptText`. */
export function decryptText(at: RunContext, cipher: RunCipher, aad: string, text: string): unknown {
  const plain = text.startsWith('~')
    ? Buffer.from(cipher.decrypt(Buffer.from(text.slice(1), 'base64url'), `${at.partition}\n${aad}`)).toString()
    : text;
  return JSON.parse(plain);
}
