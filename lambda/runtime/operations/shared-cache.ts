import type { RunContext } from '../../checkpoints/context.ts';
import { notSealed, runKeys, sealingFor } from '../../checkpoints/encryption/run-cipher.ts';
import { expiring, hasExpired } from '../../checkpoints/format/expiring-record.ts';
import type { Keyed } from '../../checkpoints/format/meta.ts';
import { besideMeta, besideRecord, besideValue } from '../../checkpoints/format/side-record.ts';
import { committed } from '../../checkpoints/try-commit.ts';
import { escapeId } from '../../core/ids.ts';
import type { Entry } from '../journal/entries.ts';

// What is shared is gone after this time at the latest.
const KEPT_MS = 30 * 86_400_000;

/** The cache of a tenant, as if it were a run; `@` is always escaped in an id, so no run is in its place. */
const cacheOf = (at: RunContext): RunContext => ({
  ...at,
  run: '@cache',
  partition: `${escapeId('tenant', at.tenant)}/@cache`,
});

/** What another run of the tenant made. */
export async function readShared(at: RunContext, name: string): Promise<Entry | undefined> {
  const there = cacheOf(at);
  const [stored] = await at.records.read(there.partition, [name]);
  if (!stored || hasExpired(at, stored)) return undefined;
  const meta = besideMeta(stored);
  const value = await besideValue(there, await sealingFor(there, { key: meta.key as Keyed['key'] }), stored);
  return { kind: 'cache', at: Number(meta.at), value };
}

/** Keeps a value for the other runs of the tenant. */
export async function keepShared(at: RunContext, name: string, value: unknown, ttlMs = KEPT_MS): Promise<void> {
  const there = cacheOf(at);
  const { sealing, key } = at.keys
    ? await (await runKeys()).newKey(there, undefined)
    : { sealing: notSealed, key: undefined };
  const kept = await besideRecord(there, sealing, name, { at: at.now(), key }, value);
  const put = expiring(at.records, kept, at.now() + Math.min(ttlMs, KEPT_MS));
  const [before] = await at.records.read(there.partition, [name]);
  // When somebody else has just kept theirs, that is as good.
  await committed(at.records, [{ put, when: before ? { revision: before.revision } : 'absent' }]);
}
