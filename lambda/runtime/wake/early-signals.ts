import type { HeadKeyFields, RunContext } from '../../checkpoints/engine.ts';
import {
  cipherFor,
  firstRecords,
  hasExpired,
  importRunKey,
  plaintext,
  randomId,
  sideMeta,
  sideRecord,
  sideValue,
  tryCommit,
  withExpiry,
} from '../../checkpoints/engine.ts';
import { isWaitstateError } from '../../core/errors.ts';
import { EARLY_SIGNAL_KEYS, earlySignalKey, HEAD_KEY } from '../../storage/keys.ts';
import { ConditionFailedError } from '../../storage/ports.ts';
import { addSignal, type Signal } from './events.ts';

/** How long a signal waits for a run that has not been started. */
const KEPT_MS = 7 * 86_400_000;

/**
 * Delivers a signal, or keeps it for a run that has not been started. Says whether it is new. Between looking for the
 * run and keeping the signal the run may have started and looked for signals: so it looks again.
 */
export async function sendSignal(at: RunContext, signal: Signal): Promise<boolean> {
  try {
    return await addSignal(at, signal, { first: adoptEarlySignals });
  } catch (error) {
    if (!isWaitstateError(error, 'RUN_NOT_FOUND')) throw error;
  }
  const kept = await keep(at, signal);
  const [head] = await at.records.read(at.partition, [HEAD_KEY]);
  if (head) await adoptEarlySignals(at);
  return kept;
}

// The order of signals that one process sends in one millisecond.
let count = 0;

// Each has an id: a write that is sent again after somebody took the signal puts it there a second time.
async function keep(at: RunContext, { name, value, id = randomId(), unchecked }: Signal): Promise<boolean> {
  const { cipher, key } = at.keys
    ? await (await importRunKey()).createRunKey(at, undefined)
    : { cipher: plaintext, key: undefined };
  count += 1;
  const meta = { signal: name, at: at.now(), count, id, key, unchecked };
  const signal = await sideRecord(at, cipher, earlySignalKey(id), meta, value);
  const put = withExpiry(at.records, signal, at.now() + KEPT_MS);
  try {
    await at.records.commit([{ put, when: 'absent' }]);
    return true;
  } catch (error) {
    if (!(error instanceof ConditionFailedError)) throw error;
    const there = error.found.get(0);
    // The one that was sent first has waited too long.
    if (!there || !hasExpired(at, there)) return false;
    return tryCommit(at.records, [{ put, when: { revision: there.revision } }]);
  }
}

/** Turns signals that came before the run into events, in the order in which they came; each by whoever is first. Says how many. */
export async function adoptEarlySignals(at: RunContext): Promise<number> {
  const early = (await firstRecords(at, EARLY_SIGNAL_KEYS)).filter((stored) => !hasExpired(at, stored));
  const inOrder = early.map((stored) => ({ stored, meta: sideMeta(stored) }));
  inOrder.sort((a, b) => Number(a.meta.at) - Number(b.meta.at) || Number(a.meta.count) - Number(b.meta.count));
  for (const { stored, meta } of inOrder) {
    const cipher = await cipherFor(at, { key: meta.key as HeadKeyFields['key'] });
    const value = await sideValue(at, cipher, stored);
    const id = typeof meta.id === 'string' ? meta.id : undefined;
    const remove = { remove: stored, when: { revision: stored.revision } };
    try {
      const unchecked = meta.unchecked === true || undefined;
      const isNew = await addSignal(at, { name: String(meta.signal), value, id, unchecked }, { also: [remove] });
      // It was sent once more after the run had started, and is an event already.
      if (!isNew) await at.records.commit([remove]);
    } catch (error) {
      // Somebody else has just done it.
      if (!(error instanceof ConditionFailedError)) throw error;
    }
  }
  return early.length;
}
