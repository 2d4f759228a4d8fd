import { randomBytes } from 'node:crypto';
import { WaitstateError } from '../../core/errors.ts';
import type { RunContext } from '../context.ts';
import type { Keyed } from '../format/meta.ts';
import { runShredded } from '../run-errors.ts';
import { sealedBy } from './aes-gcm.ts';
import type { KeyContext, WrappedKey } from './key-ring.ts';
import { notSealed, type Sealing } from './run-cipher.ts';

/** How the bytes of a run are opened; asks the key ring at most once for each run. */
export async function sealingOf(at: RunContext, head: Keyed): Promise<Sealing> {
  if (head.shredded) {
    at.cache.sealings.delete(at.partition);
    throw runShredded(at.run);
  }
  if (!head.key) {
    if (!at.keys || at.acceptUnencrypted) return notSealed;
    throw new WaitstateError(
      'RUN_NOT_ENCRYPTED',
      `Run "${at.run}" is not encrypted, and this store has keys. If it was written before there were keys, open the store with \`acceptUnencrypted: true\`.`,
      { scope: 'run' },
    );
  }
  const known = at.cache.sealings.get(at.partition);
  if (known?.of === nameOf(head.key, head.owner)) return known.sealing;
  return keep(at, head.key, head.owner, await dataKey(at, head));
}

/** A new data key with its wrapping for the head; no encryption when the store has no keys. */
export async function newKey(
  at: RunContext,
  owner: string | undefined,
): Promise<{ sealing: Sealing; key: WrappedKey | undefined }> {
  if (!at.keys) return { sealing: notSealed, key: undefined };
  const bytes = randomBytes(32);
  const key = await at.keys.wrap(bytes, contextOf(at, owner));
  return { sealing: keep(at, key, owner, bytes), key };
}

/** The run's key, wrapped by the current key of the ring and for this owner. */
export async function rewrapped(at: RunContext, head: Keyed, owner: string | undefined): Promise<WrappedKey> {
  const bytes = await dataKey(at, head);
  const key = await (at.keys ?? noKeys(at, head)).wrap(bytes, contextOf(at, owner));
  keep(at, key, owner, bytes);
  return key;
}

async function dataKey(at: RunContext, head: Keyed): Promise<Uint8Array> {
  if (!at.keys || !head.key) return noKeys(at, head);
  return at.keys.unwrap(head.key, contextOf(at, head.owner));
}

function keep(at: RunContext, key: WrappedKey, owner: string | undefined, bytes: Uint8Array): Sealing {
  const sealing = sealedBy(bytes);
  at.cache.sealings.set(at.partition, { of: nameOf(key, owner), sealing });
  return sealing;
}

// A key that was opened for one owner says nothing of another.
const nameOf = ({ by, wrapped }: WrappedKey, owner: string | undefined): string => JSON.stringify([by, wrapped, owner]);

const contextOf = (at: RunContext, owner: string | undefined): KeyContext => ({
  tenant: at.tenant,
  run: at.run,
  owner: owner ?? '',
});

function noKeys(at: RunContext, head: Keyed): never {
  const key = head.key ? `under key "${head.key.by}"` : '';
  throw new WaitstateError(
    'KEY_UNAVAILABLE',
    `Run "${at.run}" is encrypted ${key}, and this store has no keys. Pass \`keys\`.`,
  );
}
