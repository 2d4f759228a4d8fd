import {
  cipherFor,
  type HeadKeyFields,
  hasExpired,
  importRunKey,
  plaintext,
  type RunContext,
  sideMeta,
  sideRecord,
  sideValue,
  tryCommit,
  withExpiry,
} from '../../checkpoints/engine.ts';
import { cachePartition } from '../../storage/keys.ts';
import type { CacheEntry } from '../journal/entries.ts';

const MAX_TTL_MS = 30 * 86_400_000;

/**
 * A context whose records are the tenant's shared cache; `@` is always escaped in an id, so no run has this partition.
 */
const cacheContext = (at: RunContext): RunContext => ({
  ...at,
  run: '@cache',
  partition: cachePartition(at.tenant),
});

/** Reads a value that another run of the tenant cached. */
export async function readShared(at: RunContext, name: string): Promise<CacheEntry | undefined> {
  const cache = cacheContext(at);
  const [stored] = await at.records.read(cache.partition, [name]);
  if (!stored || hasExpired(at, stored)) return undefined;
  const meta = sideMeta(stored);
  const value = await sideValue(cache, await cipherFor(cache, { key: meta.key as HeadKeyFields['key'] }), stored);
  return { kind: 'cache', at: Number(meta.at), value };
}

/** Caches a value for the other runs of the tenant, for at most 30 days. */
export async function writeShared(at: RunContext, name: string, value: unknown, ttlMs = MAX_TTL_MS): Promise<void> {
  const cache = cacheContext(at);
  const { cipher, key } = at.keys
    ? await (await importRunKey()).createRunKey(cache, undefined)
    : { cipher: plaintext, key: undefined };
  const record = await sideRecord(cache, cipher, name, { at: at.now(), key }, value);
  const put = withExpiry(at.records, record, at.now() + Math.min(ttlMs, MAX_TTL_MS));
  const [existing] = await at.records.read(cache.partition, [name]);
  // When another run has just written its value, that one is kept.
  await tryCommit(at.records, [{ put, when: existing ? { revision: existing.revision } : 'absent' }]);
}
