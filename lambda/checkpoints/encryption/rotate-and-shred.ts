import { WaitstateError } from '../../core/errors.ts';
import { ConditionFailedError } from '../../storage/ports.ts';

import type { RunContext } from '../context.ts';
import type { HeadMeta } from '../format/meta.ts';
import { headRecord } from '../format/records.ts';
import { fence } from '../operations/fence.ts';
import { readLiveHead, readNewest } from '../read-head.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';
import { runNotFound, runShredded } from '../run-errors.ts';
import { StaleVersionError } from '../stale-version-error.ts';
import { rewrapKey } from './run-key.ts';

/** Wraps the run's key by the current key of the ring; what is stored stays as it is. */
export async function rotateKey(at: RunContext): Promise<void> {
  await retryOnConflict(async () => {
    const head = await readLiveHead(at);
    if (head.meta.shredded) throw runShredded(at.run);
    requireRunKey(at, head.meta);
    const key = await rewrapKey(at, head.meta, head.meta.owner);
    const rotated = headRecord(at.partition, { ...head.meta, key });
    try {
      await at.records.commit([{ put: rotated.stored, when: { revision: head.revision } }]);
    } catch (error) {
      if (!(error instanceof ConditionFailedError)) throw error;
      // The head moved meanwhile: put the key into what it is now.
      throw new StaleVersionError(at.run, head.meta.version, undefined);
    }
  });
}

/**
 * Destroys the run's key: what is stored can never be read again. Takes the next version, so that nobody writes on
 * either.
 */
export async function shred(at: RunContext): Promise<void> {
  await retryOnConflict(async () => {
    const run = await readNewest(at);
    if (!run) throw runNotFound(at);
    if (run.head.meta.shredded) return;
    requireRunKey(at, run.head.meta);
    await fence(at, { head: run.head, record: run.newest }, { kind: 'shred' }, { key: undefined, shredded: true });
    at.cache.ciphers.delete(at.partition);
  });
}

function requireRunKey(at: RunContext, { key }: HeadMeta): NonNullable<HeadMeta['key']> {
  if (key) return key;
  const why = `Run "${at.run}" has no key: it is not encrypted. A fork of it by a store with keys is, and \`delete\` removes what it holds.`;
  throw new WaitstateError('RUN_NOT_ENCRYPTED', why, { scope: 'run' });
}
