import type { RunCipher, RunContext } from '../../checkpoints/engine.ts';
import {
  cipherFor,
  headRecord,
  metaOnlyRecord,
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
  /** A second signal with this id is the same one. */
  readonly id?: string | undefined;
  /** That whoever sends it does not know its schema; the agent then checks it. */
  readonly unchecked?: true | undefined;
}

/** A signal as it came. */
export interface SignalEvent {
  /** Its place in the order of events. */
  readonly number: number;
  readonly name: string;
  readonly value: unknown;
  readonly at: number;
  readonly unchecked?: true;
}

/** What belongs to a signal. */
interface Along {
  /** Written in the same transaction. */
  readonly also?: readonly Write[];
  /** What goes before the signals of a run that nobody has claimed yet; says how much that was. */
  readonly first?: (at: RunContext) => Promise<number>;
}

/**
 * Puts a signal into the order of a run's events and wakes it. Says whether it is new: one with an id that was taken
 * before changes nothing.
 */
export async function addSignal(at: RunContext, signal: Signal, { also = [], first }: Along = {}): Promise<boolean> {
  const { name, value, id, unchecked } = signal;
  try {
    await wakeRun(at, async ({ meta }, number) => {
      if (hasEnded(meta.status) || meta.status === 'ENDING') throw runEnded(at.run, meta.status);
      if (first && meta.work?.claimed === undefined && (await first(at)) > 0)
        throw new StaleVersionError(at.run, meta.version, undefined);
      const cipher = await cipherFor(at, meta);
      const put = await sideRecord(at, cipher, eventKey(number), { signal: name, at: at.now(), id, unchecked }, value);
      const taken =
        id === undefined ? [] : [{ put: metaOnlyRecord(at, signalIdKey(id), { number }), when: 'absent' as const }];
      return { writes: [{ put, when: 'absent' }, ...taken, ...also] };
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
    `Run "${run}" is ${status}; nothing can reach it any more. Start another one, or \`fork\` it.`,
  );

/** What came from outside, in its order. */
export interface Events {
  readonly signals: readonly SignalEvent[];
  /** Children that ended. */
  readonly childEnds: readonly { readonly number: number; readonly child: string }[];
}

export const NO_EVENTS: Events = { signals: [], childEnds: [] };

/** The events of a run. Each is read once: they never change, and new ones only come behind them. */
export class EventLog {
  #known = NO_EVENTS;
  #last = 0;

  /**
   * The events after a number, up to one that is known to be there: behind it a query could find one and miss the one
   * before.
   */
  async readBetween(at: RunContext, cipher: RunCipher, after: number, upTo: number): Promise<Events> {
    const signals = this.#known.signals.filter(({ number }) => number > after);
    const ends = this.#known.childEnds.filter(({ number }) => number > after);
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
    this.#known = { signals, childEnds: ends };
    this.#last = Math.max(last, upTo);
    return this.#known;
  }
}

/** What tells the parent, in the transaction that ends a run, that its child is over. */
export async function wakeParentWrites(at: RunContext, parent: string | undefined): Promise<readonly Write[]> {
  if (parent === undefined) return [];
  const there = { ...at, run: parent, partition: toPartition(at.tenant, parent) };
  const [stored] = await at.records.read(there.partition, [HEAD_KEY]);
  const head = stored && readHead(stored);
  // Nobody waits any more.
  if (!head || head.meta.deletedUntil !== undefined || hasEnded(head.meta.status)) return [];
  const woken = wokenHead(there, head.meta);
  const event = metaOnlyRecord(there, eventKey(woken.work?.wake ?? 0), { child: at.run, at: at.now() });
  return [
    { put: headRecord(there.partition, woken).stored, when: { revision: head.revision } },
    { put: event, when: 'absent' },
  ];
}
