import { setImmediate as tick } from 'node:timers/promises';
import type { CheckpointKind } from '../checkpoints/checkpoint.ts';
import { currentState } from '../checkpoints/content.ts';
import type { RunContext } from '../checkpoints/context.ts';
import type { HeadMeta, Work } from '../checkpoints/meta.ts';
import { type Opened, open } from '../checkpoints/open.ts';
import { readCheckpoint, versionKey } from '../checkpoints/records.ts';
import { firstRecords } from '../checkpoints/scan.ts';
import { isHoldpointError, isStorageError } from '../core/errors.ts';
import { hasEnded, type Status } from '../core/status.ts';
import { ConditionFailedError, type Write } from '../storage/ports.ts';
import { appendEntries } from './append-entries.ts';
import type { Entry } from './entries.ts';
import { NO_WORK } from './work.ts';

/** Something to be recorded with the next checkpoint. */
export interface Item {
  readonly entries?: readonly (readonly [id: string, entry: Entry])[];
  readonly forget?: readonly string[];
  /** What becomes of the state, on top of what is there when it is written. */
  readonly edit?: (state: unknown) => unknown;
  /** The operation that it ends, as history shows it. */
  readonly step?: string;
  /** A name for the checkpoint. */
  readonly name?: string;
  /** What is written in the same transaction; asked for anew at every try. */
  readonly beside?: () => Promise<readonly Write[]>;
  /** Makes the error of the item when a condition beside it fails; without it the write is tried again. */
  readonly refusal?: (error: ConditionFailedError) => Error;
  /** What changes in the work of the head. */
  readonly work?: (work: Work) => Work;
  /** What the run becomes. */
  readonly status?: Status;
  /** That nothing of the agent goes on when it is written. */
  readonly quiet?: boolean;
}

/** An item, and who waits for it. */
interface Queued {
  readonly item: Item;
  readonly done: PromiseWithResolvers<void>;
}

/** How a run lies while nothing runs it. */
export interface Rest {
  readonly status: Status;
  /** That it is for another invocation at once. */
  readonly goesOn?: true;
  readonly work: (work: Work) => Work;
}

/** Somebody else has the run now; what this invocation knows is worth nothing any more. */
export class Fenced extends Error {}

/** The run was cancelled before its end was written. */
export class Overtaken extends Error {}

/** An outside event came that this invocation has not seen. */
class Woken extends Error {
  readonly wake: number;

  constructor(wake: number) {
    super();
    this.wake = wake;
  }
}

/** The edit of an item threw; nothing was written. */
class EditFailed extends Error {
  readonly item: Item;

  constructor(item: Item, cause: unknown) {
    super('An edit failed.', { cause });
    this.item = item;
  }
}

/** What the writer asks those who run the agent. */
export interface Resting {
  /** How the run should lie, if nothing is left to do in this process. */
  rest(): Rest | undefined;
  /** Events came that have to be looked at. */
  woken(): Promise<void>;
  /** The run was cancelled or has timed out. */
  cancelled(): void;
  /** The run lies. */
  rested(rest: Rest): void;
  /** Writing is over for this invocation. */
  failed(error: unknown): void;
}

/**
 * Writes the checkpoints of one invocation, one after the other. What is recorded while a write is under way goes into
 * the next, so results that finish together share one.
 */
export class RunWriter {
  opened: Opened;
  state: unknown;
  /** The number of the newest event that was looked at. */
  seenWake: number;
  readonly #at: RunContext;
  readonly #resting: Resting;
  readonly #dropped = new WeakSet<Item>();
  #queue: Queued[] = [];
  #running = false;
  #over = false;

  constructor(at: RunContext, opened: Opened, seenWake: number, resting: Resting) {
    this.#at = at;
    this.opened = opened;
    this.state = currentState(at, opened).state;
    this.seenWake = seenWake;
    this.#resting = resting;
  }

  /** Resolves when the item is confirmed; rejects only for what is wrong with the item itself. */
  record(item: Item): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#queue.push({ item, done });
    this.kick();
    return done.promise;
  }

  /** Leaves an item unwritten, if it is not on its way; who waits for it waits for ever. */
  drop(item: Item): void {
    this.#dropped.add(item);
  }

  /** Looks whether there is something to write. */
  kick(): void {
    if (this.#running || this.#over) return;
    this.#running = true;
    this.#loop().catch((error: unknown) => {
      this.#over = true;
      this.#resting.failed(error);
    });
  }

  /** Writes nothing more. */
  stop(): void {
    this.#over = true;
  }

  async #loop(): Promise<void> {
    for (;;) {
      // What happens at the same time comes together here, and the agent goes on as far as it can.
      await tick();
      if (this.#over) return;
      const batch = this.#queue.filter(({ item }) => !this.#dropped.has(item));
      this.#queue = [];
      const ends = batch.some(({ item }) => item.status && hasEnded(item.status));
      const rest = batch.every(({ item }) => item.quiet) ? this.#resting.rest() : undefined;
      if (batch.length === 0 && !rest) {
        this.#running = false;
        return;
      }
      const written = await this.#write(batch, rest);
      if (!written) continue;
      for (const { done } of batch) done.resolve();
      if (ends) this.#over = true;
      if (rest) {
        this.#over = true;
        this.#resting.rested(rest);
      }
      if (this.#over) return;
    }
  }

  /** Writes a batch, or puts it back to be written without a rest because an event came. */
  async #write(batch: Queued[], rest: Rest | undefined): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      const writes = await this.#besides(batch);
      if (!writes) return false;
      const fit = howManyFit(batch, writes);
      if (fit < batch.length) {
        this.#queue.unshift(...batch.splice(fit));
        if (await this.#write(batch, undefined)) for (const { done } of batch) done.resolve();
        return false;
      }
      try {
        await this.#append(
          batch.map(({ item }) => item),
          writes.flat(),
          rest,
        );
        return true;
      } catch (error) {
        if (error instanceof Woken) {
          this.#queue.unshift(...batch);
          this.seenWake = error.wake;
          await this.#resting.woken();
          return false;
        }
        if (isHoldpointError(error, 'STALE_VERSION')) {
          this.#queue.unshift(...batch);
          await this.#catchUp();
          return false;
        }
        if (error instanceof EditFailed) {
          for (const one of batch.filter(({ item }) => item === error.item)) {
            batch.splice(batch.indexOf(one), 1);
            one.done.reject(error.cause);
          }
        } else if (error instanceof ConditionFailedError) this.#refuse(batch, writes, error);
        else if (isHoldpointError(error, 'UNSUPPORTED_VALUE')) {
          if (batch.length === 1) batch[0]?.done.reject(error);
          else for (const one of batch) await this.#writeAlone(one);
          return false;
        } else if (GONE.some((code) => isHoldpointError(error, code)))
          throw new Fenced('The run is gone.', { cause: error });
        else throw error;
        if (batch.length === 0) return false;
        if (tries >= TRIES) throw error;
      }
    }
  }

  /** What is written beside each item; undefined when some item cannot be written, which then is told. */
  async #besides(batch: Queued[]): Promise<readonly (readonly Write[])[] | undefined> {
    const made = await Promise.allSettled(batch.map(async ({ item }) => (await item.beside?.()) ?? []));
    const failed = made.flatMap((each, i) => (each.status === 'rejected' ? [{ one: batch[i], why: each.reason }] : []));
    for (const { why } of failed) if (isStorageError(why)) throw why;
    if (failed.length === 0) return distinct(made.map((each) => (each.status === 'fulfilled' ? each.value : [])));
    for (const { one, why } of failed) one?.done.reject(why);
    this.#queue.unshift(...batch.filter((one) => !failed.some((lost) => lost.one === one)));
    return undefined;
  }

  /** One item of a batch in which some value cannot be kept. */
  async #writeAlone(one: Queued): Promise<void> {
    if (await this.#write([one], undefined)) one.done.resolve();
  }

  async #append(items: readonly Item[], beside: readonly Write[], rest: Rest | undefined): Promise<void> {
    const { seenWake } = this;
    const edits = items.filter(({ edit }) => edit);
    let { state } = this;
    for (const item of edits) {
      try {
        state = await item.edit?.(state);
      } catch (error) {
        throw new EditFailed(item, error);
      }
    }
    const steps = items.flatMap(({ step }) => step ?? []);
    const status = rest?.status ?? items.find((item) => item.status)?.status;
    const changesWork = items.some(({ work }) => work) || rest;
    const head = (there: HeadMeta) => {
      const before = there.work ?? NO_WORK;
      // The head that this process knows may be older than what it has looked at; then the commit finds the newer one.
      if (rest && before.wake > seenWake) throw new Woken(before.wake);
      const changed = items.reduce((work, item) => item.work?.(work) ?? work, before);
      return { work: rest ? rest.work(changed) : changed };
    };
    this.opened = await appendEntries(this.#at, this.opened, {
      entries: entriesOf(items),
      forget: items.flatMap(({ forget = [] }) => forget),
      ...(edits.length > 0 && { state: { value: state } }),
      ...(steps.length > 0 && { step: titleOf(steps), steps: steps.length }),
      ...(status && { status }),
      name: items.findLast(({ name }) => name !== undefined)?.name,
      ...(changesWork && { head }),
      beside,
    });
    if (edits.length > 0) this.state = currentState(this.#at, this.opened).state;
  }

  /** Reads what somebody else appended: an edit or a cancel is what we write on, anything else ends this invocation. */
  async #catchUp(): Promise<void> {
    const at = this.#at;
    const { version } = this.opened.record;
    let newest: Opened;
    try {
      newest = await open(at);
    } catch (error) {
      if (GONE.some((code) => isHoldpointError(error, code))) throw new Fenced('The run is gone.', { cause: error });
      throw error;
    }
    const range = { from: versionKey(version + 1), to: versionKey(newest.record.version) };
    const between = (await firstRecords(at, range)).map((stored) => readCheckpoint(stored).meta);
    const sameLife = newest.head.meta.born === this.opened.head.meta.born;
    if (!sameLife || !between.every(({ kind }) => HARMLESS.has(kind)) || hasEnded(newest.head.meta.status))
      throw new Fenced('Somebody else has the run.');
    this.opened = newest;
    this.state = currentState(at, newest).state;
    if (!between.some(({ kind }) => kind === 'cancel')) return;
    this.#resting.cancelled();
    // The run ends in another way now.
    const overtaken = this.#queue.filter(({ item }) => item.status);
    this.#queue = this.#queue.filter(({ item }) => !item.status);
    for (const { done } of overtaken) done.reject(new Overtaken());
  }

  /** Takes items out of the batch whose own writes were refused. */
  #refuse(batch: Queued[], writes: readonly (readonly Write[])[], error: ConditionFailedError): void {
    let from = 0;
    for (const [i, one] of [...batch].entries()) {
      const to = from + (writes[i]?.length ?? 0);
      const own = [...error.found].filter(([place]) => place >= from && place < to);
      if (own.length > 0 && one.item.refusal) {
        batch.splice(batch.indexOf(one), 1);
        one.done.reject(
          one.item.refusal(new ConditionFailedError(new Map(own.map(([at, found]) => [at - from, found])), error)),
        );
      }
      from = to;
    }
  }
}

// A transaction takes 100 writes; some are of the checkpoint itself.
const MOST_BESIDE = 95;

/** How many items one transaction takes: writes of an agent's own may meet those of another step, so of one step only. */
function howManyFit(batch: readonly Queued[], writes: readonly (readonly Write[])[]): number {
  let beside = 0;
  let own = 0;
  const over = batch.findIndex(({ item }, i) => {
    beside += writes[i]?.length ?? 0;
    own += item.refusal ? 1 : 0;
    return i > 0 && (beside > MOST_BESIDE || own > 1);
  });
  return over < 0 ? batch.length : over;
}

/** Two items may withdraw the same approval: then one of them does. */
function distinct(writes: readonly (readonly Write[])[]): readonly (readonly Write[])[] {
  const keys = new Set<string>();
  const isFirst = (write: Write): boolean => {
    if ('foreign' in write) return true;
    const { partition, key } = 'put' in write ? write.put : write.remove;
    const name = `${partition}\n${key}`;
    return !keys.has(name) && keys.add(name) !== undefined;
  };
  return writes.map((own) => own.filter(isFirst));
}

// How often what is written beside is made anew on what others left there.
const TRIES = 20;

/** What is recorded by all items: one takes out what those before it put in. */
function entriesOf(items: readonly Item[]): ReadonlyMap<string, Entry> {
  const all = new Map<string, Entry>();
  for (const { entries = [], forget = [] } of items) {
    for (const id of forget) all.delete(id);
    for (const [id, entry] of entries) all.set(id, entry);
  }
  return all;
}

// What may be appended to a run while it runs, without its lease.
const HARMLESS: ReadonlySet<CheckpointKind> = new Set(['save', 'prune', 'cancel']);

const GONE = ['RUN_NOT_FOUND', 'RUN_DELETED', 'RUN_EXPIRED', 'RUN_SHREDDED'] as const;

const titleOf = (steps: readonly string[]): string =>
  (steps.length === 1 ? String(steps[0]) : `${steps[0]} and ${steps.length - 1} more`).slice(0, 256);
