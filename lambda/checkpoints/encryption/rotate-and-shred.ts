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

/** Wraps the run's data key with the current key of the key ring; stored content stays unchanged. */
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
      // The head changed meanwhile; retry on the new head.
      throw new StaleVersionError(at.run, head.meta.version, undefined);
    }
  });
}

/**
 * Destroys the run's data key, so that stored content can never be read again. Takes the next version, which fences
 * writers that still have the key.
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
  const why = `Run "${at.run}" is not encrypted, so it has no data key. To encrypt its content, fork it with a store that has keys; to remove it, use \`delete\`.`;
  throw new WaitstateError('RUN_NOT_ENCRYPTED', why, { scope: 'run' });
}
