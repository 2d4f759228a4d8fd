import type { HeadKeyFields, RunContext } from '../../checkpoints/engine.ts';
import {
  cipherFor,
  hasExpired,
  importRunKey,
  plaintext,
  sideMeta,
  sideRecord,
  sideValue,
  tryCommit,
  withExpiry,
} from '../../checkpoints/engine.ts';
import { cachePartition } from '../../storage/keys.ts';
import type { Entry } from '../journal/entries.ts';

// What is shared is gone after this time at the latest.
const KEPT_MS = 30 * 86_400_000;

/** The cache of a tenant, as if it were a run; `@` is always escaped in an id, so no run is in its place. */
const cacheOf = (at: RunContext): RunContext => ({
  ...at,
  run: '@cache',
  partition: cachePartition(at.tenant),
});

/** What another run of the tenant made. */
export async function readShared(at: RunContext, name: string): Promise<Entry | undefined> {
  const there = cacheOf(at);
  const [stored] = await at.records.read(there.partition, [name]);
  if (!stored || hasExpired(at, stored)) return undefined;
  const meta = sideMeta(stored);
  const value = await sideValue(there, await cipherFor(there, { key: meta.key as HeadKeyFields['key'] }), stored);
  return { kind: 'cache', at: Number(meta.at), value };
}

/** Keeps a value for the other runs of the tenant. */
export async function writeShared(at: RunContext, name: string, value: unknown, ttlMs = KEPT_MS): Promise<void> {
  const there = cacheOf(at);
  const { cipher, key } = at.keys
    ? await (await importRunKey()).createRunKey(there, undefined)
    : { cipher: plaintext, key: undefined };
  const kept = await sideRecord(there, cipher, name, { at: at.now(), key }, value);
  const put = withExpiry(at.records, kept, at.now() + Math.min(ttlMs, KEPT_MS));
  const [before] = await at.records.read(there.partition, [name]);
  // When somebody else has just kept theirs, that is as good.
  await tryCommit(at.records, [{ put, when: before ? { revision: before.revision } : 'absent' }]);
}
