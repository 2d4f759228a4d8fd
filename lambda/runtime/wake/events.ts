import {
  cipherFor,
  headRecord,
  metaOnlyRecord,
  type RunCipher,
  type RunContext,
  readHead,
  StaleVersionError,
  scanRecords,
  sideMeta,
  sideRecord,
  sideValue,
} from '../../checkpoints/engine.ts';
import { WaitstateError } from '../../core/errors.ts';
import { toPartition } from '../../core/ids.ts';
import { hasEnded } from '../../core/status.ts';
import { eventKey, HEAD_KEY, signalIdKey } from '../../storage/keys.ts';
import { ConditionFailedError, type Write } from '../../storage/ports.ts';
import { wakeRun, wokenHead } from './wake.ts';

/** A signal to a run. */
export interface Signal {
  readonly name: string;
  readonly value: unknown;
  /** Makes the signal idempotent: a second one with the same id is ignored. */
  readonly id?: string | undefined;
  /** The sender does not know the signal's schema, so the agent validates the value. */
  readonly unchecked?: true | undefined;
}

/** A signal that was received. */
export interface SignalEvent {
  /** Its position in the run's event log. */
  readonly number: number;
  readonly name: string;
  readonly value: unknown;
  readonly at: number;
  readonly unchecked?: true;
}

interface AddSignalOptions {
  /** Writes in the same transaction. */
  readonly sideWrites?: readonly Write[];
  /** Adds earlier signals to a run that has never been claimed, so that they keep their order; returns how many. */
  readonly beforeFirstClaim?: (at: RunContext) => Promise<number>;
}

/**
 * Appends a signal to the run's event log and wakes the run. Returns false, and changes nothing, when its id is known.
 */
export async function addSignal(
  at: RunContext,
  signal: Signal,
  { sideWrites = [], beforeFirstClaim }: AddSignalOptions = {},
): Promise<boolean> {
  const { name, value, id, unchecked } = signal;
  try {
    await wakeRun(at, async ({ meta }, number) => {
      if (hasEnded(meta.status) || meta.status === 'ENDING') throw runEnded(at.run, meta.status);
      if (beforeFirstClaim && meta.work?.claimedVersion === undefined && (await beforeFirstClaim(at)) > 0)
        throw new StaleVersionError(at.run, meta.version, undefined);
      const cipher = await cipherFor(at, meta);
      const put = await sideRecord(at, cipher, eventKey(number), { signal: name, at: at.now(), id, unchecked }, value);
      const idWrites =
        id === undefined ? [] : [{ put: metaOnlyRecord(at, signalIdKey(id), { number }), when: 'absent' as const }];
      return { writes: [{ put, when: 'absent' }, ...idWrites, ...sideWrites] };
    });
    return true;
  } catch (error) {
    if (error instanceof ConditionFailedError && id !== undefined && error.found.has(1)) return false;
    throw error;
  }
}

const runEnded = (run: string, status: string): WaitstateError =>
  new WaitstateError(
    'RUN_ENDED',
    `Run "${run}" is ${status} and receives no more signals. Start another run, or \`fork\` this one.`,
  );

/** The events of a run, in order. */
export interface Events {
  readonly signals: readonly SignalEvent[];
  /** Child runs that have ended. */
  readonly childEnds: readonly { readonly number: number; readonly child: string }[];
}

export const NO_EVENTS: Events = { signals: [], childEnds: [] };

/** Reads the event log of a run. Events are immutable and append-only, so each is read from storage once. */
export class EventLog {
  #read = NO_EVENTS;
  #last = 0;

  /**
   * The events after one number, up to another that is known to exist. Beyond it, a query could return an event and
   * miss an earlier one.
   */
  async readBetween(at: RunContext, cipher: RunCipher, after: number, upTo: number): Promise<Events> {
    const signals = this.#read.signals.filter(({ number }) => number > after);
    const ends = this.#read.childEnds.filter(({ number }) => number > after);
    const last = Math.max(after, this.#last);
    const unread = { from: eventKey(last + 1), to: eventKey(upTo) };
    for await (const stored of upTo > last ? scanRecords(at, unread) : []) {
      const number = Number(stored.key.slice(1));
      const meta = sideMeta(stored);
      if (typeof meta.child === 'string') ends.push({ number, child: meta.child });
      else {
        const value = await sideValue(at, cipher, stored);
        const unchecked = meta.unchecked === true && { unchecked: true as const };
        signals.push({ number, name: String(meta.signal), value, at: Number(meta.at), ...unchecked });
      }
    }
    this.#read = { signals, childEnds: ends };
    this.#last = Math.max(last, upTo);
    return this.#read;
  }
}

/** The writes that wake the parent, for the transaction that ends its child run. */
export async function wakeParentWrites(at: RunContext, parent: string | undefined): Promise<readonly Write[]> {
  if (parent === undefined) return [];
  const parentContext = { ...at, run: parent, partition: toPartition(at.tenant, parent) };
  const [stored] = await at.records.read(parentContext.partition, [HEAD_KEY]);
  const head = stored && readHead(stored);
  // A parent that was deleted or has ended does not wait.
  if (!head || head.meta.deletedUntil !== undefined || hasEnded(head.meta.status)) return [];
  const woken = wokenHead(parentContext, head.meta);
  const event = metaOnlyRecord(parentContext, eventKey(woken.work?.eventCount ?? 0), { child: at.run, at: at.now() });
  return [
    { put: headRecord(parentContext.partition, woken).stored, when: { revision: head.revision } },
    { put: event, when: 'absent' },
  ];
}
