import type { Places, StoredRecord } from '../../storage/ports.ts';
import { decoding, encodeValues, NO_CONTENT } from '../content.ts';
import type { RunContext } from '../context.ts';
import { decode } from '../document/decode.ts';
import { parse } from '../document/parse.ts';
import { payloadRefs } from '../document/payloads.ts';
import type { Sealing } from '../encryption/run-cipher.ts';
import { readBytes, storeBytes } from '../payload.ts';
import { damaged, formatTooNew } from '../run-errors.ts';
import { isUnreadable, metaText, readPlainMeta, type Segment } from './meta.ts';
import { pack, unpack } from './packing.ts';
import { randomId } from './records.ts';

/**
 * A record beside the checkpoints of a run: an event, an approval. Its readable part may be written again and again;
 * its value is written once, sealed as the run is, and what is too large for a record is a payload.
 */
export async function besideRecord(
  at: RunContext,
  sealing: Sealing,
  key: string,
  meta: object,
  value: unknown,
): Promise<StoredRecord> {
  const root = await encodeValues(at, sealing, NO_CONTENT, { state: value });
  const bytes = pack(JSON.stringify(root.state), at.records.packsSmall);
  const ids = [...payloadRefs(root).keys()];
  if (bytes.length <= at.records.inlineBytes) {
    const body = sealing.seal(bytes, aboutBeside(at, key));
    return stored(at, key, { ...meta, ...(ids.length > 0 && { payloads: ids }) }, body);
  }
  const { id, sha256, size } = await storeBytes(at, sealing, bytes);
  return stored(at, key, { ...meta, payloads: [...ids, id], value: [id, sha256, size] });
}

const aboutBeside = ({ partition }: RunContext, key: string): string => `${partition}\n${key}`;

const stored = (
  { partition }: { readonly partition: string },
  key: string,
  meta: object,
  body?: Uint8Array,
  places?: Places,
): StoredRecord => ({
  ...{ partition, key, revision: randomId(), meta: metaText(meta) },
  ...(body && { body }),
  ...(places && { places }),
});

/** A record without a value. */
export const bareRecord = (at: { readonly partition: string }, key: string, meta: object, places?: Places) =>
  stored(at, key, meta, undefined, places);

/** The same record with another readable part; its value stays. */
export function withMeta(record: StoredRecord, meta: object, places?: Places): StoredRecord {
  const { payloads, value } = besideMeta(record);
  return stored(record, record.key, { ...meta, payloads, value }, record.body, places);
}

/** The readable part of such a record; what is in it is for the caller to check. */
export function besideMeta(record: StoredRecord): Readonly<Record<string, unknown>> {
  const meta = readPlainMeta(record.meta);
  if (!isUnreadable(meta)) return meta;
  const what = `Record ${record.key} of "${record.partition}"`;
  if ('newerFormat' in meta) throw formatTooNew(what, String(meta.newerFormat));
  throw damaged(what, `its readable part is not what was written: ${meta.wrong}`);
}

/** The payloads that such a record points at. */
export function payloadsOf(record: StoredRecord): readonly string[] {
  const { payloads } = besideMeta(record);
  return Array.isArray(payloads) ? payloads : [];
}

/** The text of the value of such a record, as it was stored; undefined when it has none. */
export async function besideText(at: RunContext, sealing: Sealing, record: StoredRecord): Promise<string | undefined> {
  const { value } = besideMeta(record);
  const [id, sha256, size] = (value ?? []) as Partial<Segment>;
  const bytes =
    id !== undefined && sha256 !== undefined && size !== undefined
      ? await readBytes(at, sealing, { id, sha256, size })
      : record.body && sealing.open(record.body, aboutBeside(at, record.key));
  try {
    return bytes && unpack(bytes);
  } catch (error) {
    throw unreadableValue(record, error);
  }
}

/** The value of such a record; deeply frozen. */
export async function besideValue(at: RunContext, sealing: Sealing, record: StoredRecord): Promise<unknown> {
  const text = await besideText(at, sealing, record);
  if (text === undefined) return undefined;
  try {
    return decode(parse(text), decoding(at, { sealing }));
  } catch (error) {
    throw unreadableValue(record, error);
  }
}

const unreadableValue = ({ partition, key }: StoredRecord, cause: unknown) =>
  damaged(`Record ${key} of "${partition}"`, 'its value cannot be read', cause);

/** A small value as text that only the run's key opens, for readable parts. */
export function closedText(at: RunContext, sealing: Sealing, about: string, value: unknown): string {
  const text = JSON.stringify(value);
  return sealing.encrypted
    ? `~${Buffer.from(sealing.seal(Buffer.from(text), `${at.partition}\n${about}`)).toString('base64url')}`
    : text;
}

/** The reverse of `closedText`. */
export function openedText(at: RunContext, sealing: Sealing, about: string, text: string): unknown {
  const plain = text.startsWith('~')
    ? Buffer.from(sealing.open(Buffer.from(text.slice(1), 'base64url'), `${at.partition}\n${about}`)).toString()
    : text;
  return JSON.parse(plain);
}
