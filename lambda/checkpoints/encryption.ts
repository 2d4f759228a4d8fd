import { HoldpointError } from '../core/errors.ts';
import { ConditionFailedError } from '../storage/ports.ts';
import { fence, rewrapped } from './append.ts';
import type { RunContext } from './context.ts';
import { headRecord } from './records.ts';
import { readLiveHead, readNewest, runNotFound } from './tail.ts';
import { retried } from './update.ts';

/** Wraps the run's key by the current key of the ring; what is stored stays as it is. */
export async function rotateKey(at: RunContext): Promise<void> {
  const head = await readLiveHead(at);
  if (!head.meta.key) throw notEncrypted(at);
  const key = await rewrapped(at, head.meta, head.meta.owner);
  try {
    await at.records.commit([
      { put: headRecord(at.partition, { ...head.meta, key }), when: { revision: head.revision } },
    ]);
  } catch (error) {
    if (!(error instanceof ConditionFailedError)) throw error;
    // The head moved meanwhile: put the key into what it is now.
    await rotateKey(at);
  }
}

/** Destroys the run's key: what is stored can never be read again. Takes the next version, so that nobody writes on either. */
export async function shred(at: RunContext): Promise<void> {
  await retried(async () => {
    const run = await readNewest(at);
    if (!run) throw runNotFound(at);
    if (run.head.meta.shredded) return;
    const { key } = run.head.meta;
    if (!key) throw notEncrypted(at);
    await fence(at, run, { k: 'shred' }, { key: undefined, shredded: true });
    at.tails.sealings.delete(key.wrapped);
  });
}

const notEncrypted = (at: RunContext): HoldpointError =>
  new HoldpointError(
    'RUN_NOT_ENCRYPTED',
    `Run "${at.run}" has no key: it is not encrypted. To remove what it holds, delete it.`,
    { scope: 'run' },
  );
