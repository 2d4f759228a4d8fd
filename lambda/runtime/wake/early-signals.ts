import {
  cipherFor,
  firstRecords,
  type HeadKeyFields,
  hasExpired,
  importRunKey,
  plaintext,
  type RunContext,
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

/** How long a signal is kept for a run that has not started. */
const EARLY_SIGNAL_TTL_MS = 7 * 86_400_000;

/**
 * Sends a signal, or keeps it for a run that has not started. Returns false when its id was sent before. The run may
 * start, and look for early signals, just before the signal is stored, so the head is read again afterwards.
 */
export async function sendSignal(at: RunContext, signal: Signal): Promise<boolean> {
  try {
    return await addSignal(at, signal, { beforeFirstClaim: adoptEarlySignals });
  } catch (error) {
    if (!isWaitstateError(error, 'RUN_NOT_FOUND')) throw error;
  }
  const isNew = await keepEarlySignal(at, signal);
  const [head] = await at.records.read(at.partition, [HEAD_KEY]);
  if (head) await adoptEarlySignals(at);
  return isNew;
}

// Orders the signals that one process sends in the same millisecond.
let sentCount = 0;

// Every early signal has an id: a retried write may store it again after the run has adopted it, and the id reveals
// that.
async function keepEarlySignal(at: RunContext, { name, value, id = randomId(), unchecked }: Signal): Promise<boolean> {
  const { cipher, key } = at.keys
    ? await (await importRunKey()).createRunKey(at, undefined)
    : { cipher: plaintext, key: undefined };
  sentCount += 1;
  const meta = { signal: name, at: at.now(), count: sentCount, id, key, unchecked };
  const signal = await sideRecord(at, cipher, earlySignalKey(id), meta, value);
  const put = withExpiry(at.records, signal, at.now() + EARLY_SIGNAL_TTL_MS);
  try {
    await at.records.commit([{ put, when: 'absent' }]);
    return true;
  } catch (error) {
    if (!(error instanceof ConditionFailedError)) throw error;
    const existing = error.found.get(0);
    // An expired signal with the same id is replaced.
    if (!existing || !hasExpired(at, existing)) return false;
    return tryCommit(at.records, [{ put, when: { revision: existing.revision } }]);
  }
}

/**
 * Turns the signals that arrived before the run started into events, in order of arrival; returns how many it found.
 */
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
      const isNew = await addSignal(at, { name: String(meta.signal), value, id, unchecked }, { sideWrites: [remove] });
      // The signal was also sent after the run had started, and is already an event.
      if (!isNew) await at.records.commit([remove]);
    } catch (error) {
      // Another process has just adopted it.
      if (!(error instanceof ConditionFailedError)) throw error;
    }
  }
  return early.length;
}
