import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setImmediate as tick } from 'node:timers/promises';
import { decodeResult } from '../checkpoints/content.ts';
import type { RunContext } from '../checkpoints/context.ts';
import type { Work } from '../checkpoints/meta.ts';
import { type HoldpointError, isStorageError } from '../core/errors.ts';
import { present } from '../core/present.ts';
import type { Status } from '../core/status.ts';
import type { StepTools } from './agent-context.ts';
import type { AgentDefinition } from './agent-definition.ts';
import { misused } from './agent-errors.ts';
import type { Claimed } from './claim.ts';
import { EditedState } from './edited-state.ts';
import { checkEntry, type Entry, hasSettled, isOperation, type Kind, lastPlace, mismatch } from './entries.ts';
import { EventLog } from './events.ts';
import type { Identity, Scope } from './identity.ts';
import { InTurn } from './in-turn.ts';
import { CURSOR, lookAround } from './look.ts';
import type { Runtime, StepMoment } from './runtime.ts';
import { settle } from './settle.ts';
import { Unasked } from './unasked.ts';
import { NO_WORK, ready, resting } from './work.ts';
import { Fenced, type Item, type Rest, RunWriter } from './writer.ts';

/** How an invocation of an agent ended. */
export type InvocationEnd =
  /** The run is over; `parent` waited for it. */
  | { readonly end: 'finished'; readonly status: Status; readonly parent?: string }
  /** The run waits, or goes on in another invocation at once. */
  | { readonly end: 'suspended'; readonly status: Status; readonly goesOn?: true }
  /** Somebody else has the run. */
  | { readonly end: 'fenced' }
  | { readonly end: 'failed'; readonly error: unknown };

/** Something that the run waits for. */
interface Wait {
  readonly status: Status;
  /** When it is over by itself. */
  readonly dueAt: number | undefined;
  readonly over: (entry: Entry) => void;
  /** What asks for it, where that is written with the wait. */
  readonly announce?: Item | undefined;
}

/** Before its deadline an invocation begins nothing new, and shortly before it lets go of what it runs. */
const YIELD_MS = 5_000;
const LET_GO_MS = 1_000;

/**
 * One invocation of an agent for one run: what it does at the moment, what it waits for, and its journal. It lies down
 * when nothing is left to do but to wait, and yields when the time of the function is nearly over.
 */
export class Invocation {
  readonly runtime: Runtime;
  readonly at: RunContext;
  readonly agent: AgentDefinition<never, unknown, unknown>;
  readonly writer: RunWriter;
  readonly journal: Map<string, Entry>;
  readonly ended = Promise.withResolvers<InvocationEnd>();
  /** Aborts when what runs must be let go. */
  readonly letGo = new AbortController();
  /** What the code that is running is inside of, if it is one piece: a step, an edit. */
  readonly inStep = new AsyncLocalStorage<string>();
  /** Resolves when the run has to end in another way than by its agent. */
  readonly overtaken = Promise.withResolvers<void>();
  /** What takes back the steps of this run, by their identities; and at which of them errors came up. */
  readonly undos = new Map<string, (result: never, tools: StepTools) => unknown>();
  readonly failedAt = new WeakMap<object, string>();
  /** Places in the cache that were taken in this invocation. */
  readonly cached = new Set<string>();
  /** The end of the turn that ended the run, to be written with the end. */
  lastTurn: Item | undefined;
  /** The state as of this point of a replay. */
  replayed = new EditedState(undefined);
  /** Whether the run is on its way to its end, so that nothing new is begun. */
  ending: boolean;
  /** That the code does not fit the journal: the run fails with it, whatever the agent does about it. */
  misfit: HoldpointError | undefined;
  /** Waits whose end is being recorded. */
  readonly settling = new Set<string>();
  /** The agent's function has returned, or thrown. */
  returned = false;
  /** An operation was reached that is not in the journal: from here on it is no replay. */
  live = false;
  readonly #deadline: number;
  readonly #claimed: number;
  readonly #settled: ReadonlySet<string>;
  readonly #waits = new Map<string, Wait>();
  readonly #events = new EventLog();
  readonly #timers = new AbortController();
  readonly #inTurn = new InTurn();
  readonly #unasked: Unasked;
  #active = 0;
  #place: number;
  #order = 0;
  #yielding = false;
  #over = false;
  #looking: Promise<void> = Promise.resolve();
  readonly #whenIdle: (() => void)[] = [];
  #timer: AbortController | undefined;

  constructor(runtime: Runtime, at: RunContext, agent: AgentDefinition<never, unknown, unknown>, claimed: Claimed) {
    this.runtime = runtime;
    this.at = at;
    this.agent = agent;
    this.journal = claimed.journal;
    this.#order = Math.max(0, ...[...this.journal.values()].map(({ order = 0 }) => order));
    this.#place = lastPlace(this.journal);
    this.#unasked = new Unasked(this.journal);
    this.ending = claimed.opened.head.meta.status === 'ENDING';
    this.#deadline = claimed.until;
    this.#claimed = claimed.opened.record.version;
    this.#settled = claimed.settled;
    this.writer = new RunWriter(at, claimed.opened, claimed.seenWake, {
      rest: () => this.#rest(),
      woken: () => this.look(),
      cancelled: () => {
        this.ending = true;
        this.stopAllWaiting();
        this.overtaken.resolve();
      },
      rested: ({ status, goesOn }) => this.#end({ end: 'suspended', status, ...present({ goesOn }) }),
      failed: (error) => this.#end(error instanceof Fenced ? { end: 'fenced' } : { end: 'failed', error }),
    });
    this.live = ![...this.journal.keys()].some(isOperation);
    setMaxListeners(0, this.letGo.signal);
    this.#schedule();
  }

  get now(): number {
    return this.runtime.clock.now();
  }

  get work(): Work {
    return this.writer.opened.head.meta.work ?? NO_WORK;
  }

  /** The place of the next operation that waits or can be undone. */
  nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }

  /** Whether operations that are not recorded may begin; those that may not are left waiting. */
  get begins(): boolean {
    return !this.ending && !this.misfit && !this.#yielding && !this.#over;
  }

  /** How much time is left for what runs in this process. */
  get remaining(): number {
    return this.#deadline - YIELD_MS - this.now;
  }

  /** Refuses a call when the agent has returned, or from inside of a step. */
  checkCall(what: string): void {
    const piece = this.inStep.getStore();
    if (piece !== undefined)
      throw misused(`\`${what}\` was called inside of ${piece}, which is one piece. Call it before or after.`);
    if (this.returned) throw misused(`\`${what}\` was called after the agent had returned. Await what you start.`);
  }

  /** Refuses an entry of another operation, and with it the code. */
  checkEntry(id: string, entry: Entry, kind: Kind, hash: string | undefined): void {
    try {
      checkEntry(id, entry, kind, hash);
    } catch (error) {
      throw this.unfit(error as HoldpointError);
    }
  }

  /** Fails the run with what does not fit; gives it back to be thrown. */
  unfit(error: HoldpointError): HoldpointError {
    this.misfit ??= error;
    this.stopAllWaiting();
    this.overtaken.resolve();
    return error;
  }

  /** The key by which services recognise a piece of work that they did before. */
  idempotencyKey(id: string): string {
    return this.seedOf(`${this.work.epoch ?? 0}\n${id}`);
  }

  /** A text that nobody can guess, the same for this place of the run for as long as it lives. */
  seedOf(place: string): string {
    const { born } = this.writer.opened.head.meta;
    const seed = [this.at.partition, born, place].join('\n');
    return createHash('sha256').update(seed).digest('base64url').slice(0, 32);
  }

  /** An operation of the agent under its identity, from when it is asked for until it is its turn to go on. */
  async operation<T>({ id, leave }: Identity, work: () => Promise<T>): Promise<T> {
    this.#unasked.ask(id);
    try {
      return await work();
    } finally {
      const { place } = this.journal.get(id) ?? {};
      if (place !== undefined) await this.active(() => this.#inTurn.wait(place));
      leave();
    }
  }

  /** Goes on when an operation that is not recorded may begin; left waiting otherwise. From here on it is no replay. */
  async begin(scope: Scope | undefined, id: string): Promise<void> {
    if (scope?.closed || !this.begins) return this.hang();
    if (scope && !this.journal.has(id)) await this.#checkPlace(scope.path, id);
    this.live = true;
  }

  /** Refuses code that begins something new where something else is recorded. */
  async #checkPlace(path: string, id: string): Promise<void> {
    if (this.work.edited || this.#unasked.next(path) === undefined) return;
    // Others that go on side by side may ask for it in a moment.
    await this.active(async () => {
      for (let tries = 0; tries < 20 && this.#unasked.next(path) !== undefined; tries++) {
        for (let ticks = 0; ticks < 10; ticks++) await tick();
        if (tries > 0 && this.#unasked.next(path) !== undefined) await this.runtime.clock.sleep(50);
      }
    });
    const recorded = this.#unasked.next(path);
    if (recorded === undefined) return;
    throw this.unfit(
      mismatch(id, 'comes next in this code', `"${recorded}" was recorded there, for which it did not ask`),
    );
  }

  /** Puts entries into the journal and resolves when they are confirmed. */
  async record(given: Item): Promise<void> {
    const entries = given.entries?.map(([id, entry]) => [id, this.#placed(id, entry)] as const);
    const item = { ...given, ...(entries && { entries }) };
    await this.writer.record(item);
    for (const id of item.forget ?? []) this.journal.delete(id);
    // What comes out is what a replay would give: the agent never sees anything else.
    for (const [id] of item.entries ?? []) {
      // Who looked at the events has set it, and may have set it again since: it must not go back.
      if (id !== CURSOR) this.journal.set(id, decodeResult(this.at, this.writer.opened, id) as Entry);
    }
  }

  /** An entry with its place among those that have ended. */
  #placed(id: string, entry: Entry): Entry {
    if (!isOperation(id) || !hasSettled(entry) || entry.place !== undefined) return entry;
    this.#place += 1;
    return { ...entry, place: this.#place };
  }

  /** Runs something that keeps the invocation from lying down. */
  async active<T>(work: () => Promise<T>): Promise<T> {
    this.#active += 1;
    try {
      return await work();
    } finally {
      this.#active -= 1;
      this.#changed();
    }
  }

  /** The same for what goes to the storage: when that fails it is this invocation that fails; the agent never sees it. */
  async stored<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.active(work);
    } catch (error) {
      if (!isStorageError(error)) throw error;
      this.fail(error);
      return this.hang();
    }
  }

  /** Waits for an entry to be settled by an event or by time; `announce` is written with the rest. */
  wait(id: string, entry: Entry, status: Status, announce?: Item): Promise<Entry> {
    const { promise, resolve, reject } = Promise.withResolvers<Entry>();
    const announced = announce && { ...announce, quiet: true };
    this.#waits.set(id, { status, dueAt: entry.until ?? entry.retryAt, over: resolve, announce: announced });
    this.journal.set(id, entry);
    if (announced)
      this.writer.record(announced).catch((error) => {
        this.#waits.delete(id);
        this.journal.delete(id);
        reject(error);
      });
    this.#changed();
    return promise;
  }

  /** A wait that was over was reached; if nobody knew that before, it is no replay from here on. */
  reached(id: string): void {
    if (this.#settled.has(id)) this.live = true;
  }

  /** Forgets about a wait that nobody is interested in any more; nobody is asked for it who was not asked yet. */
  stopWaiting(id: string): void {
    const { announce } = this.#waits.get(id) ?? {};
    if (announce?.beside) this.writer.drop(announce);
    this.#waits.delete(id);
  }

  /** The run goes to its end: nothing that it waits for counts any more. */
  stopAllWaiting(): void {
    for (const id of this.waiting) this.stopWaiting(id);
  }

  get waiting(): readonly string[] {
    return [...this.#waits.keys()];
  }

  /** Passes a moment of a step; a test may let the process die here. */
  async pass(moment: StepMoment, step: string): Promise<void> {
    if (this.runtime.probe?.(moment, this.at.run, step) !== 'crash') return;
    this.fail(new Error(`The process died ${moment} step "${step}", as the test wanted.`));
    await this.hang();
  }

  /** Left waiting: a promise that never settles, because the rest is not for this invocation. */
  hang(): Promise<never> {
    this.#changed();
    return new Promise(() => {});
  }

  /** Resolves when nothing is active, written or replayed any more. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenIdle.push(resolve);
      this.#changed();
    });
  }

  /** The run has ended, in this status. */
  finish(status: Status): void {
    const { replyTo: parent } = this.work;
    this.#end({ end: 'finished', status, ...present({ parent }) });
  }

  fail(error: unknown): void {
    this.#end({ end: 'failed', error });
  }

  /** Looks at the events, without keeping the caller waiting. */
  lookSoon(): void {
    this.active(async () => {
      // What the caller is about to wait for is seen too.
      await tick();
      await this.look();
    }).catch((error) => this.fail(error));
  }

  /** Looks at the events that came and settles what waits for them; one look after the other. */
  look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#look());
    return this.#looking;
  }

  async #look(): Promise<void> {
    const waits = new Map(this.waiting.map((id) => [id, this.journal.get(id) as Entry]));
    const { sealing } = this.writer.opened;
    const seen = await lookAround(this.at, sealing, this.journal, waits, this.writer.seenWake, this.#events);
    this.#settleRetries();
    const settled = settle(waits, seen.happened);
    const { entries } = settled;
    if (entries.size === 0) return;
    const over = [...entries.keys()].map((id) => ({ id, wait: this.#waits.get(id) }));
    for (const { id } of over) {
      this.#waits.delete(id);
      this.settling.add(id);
    }
    const cursor = seen.cursorAfter(settled);
    if (cursor) this.journal.set(...cursor);
    // Not awaited: the writer itself may wait for this.
    this.active(async () => {
      await this.record({ entries: [...entries, ...(cursor ? [cursor] : [])] });
      for (const { id, wait } of over) {
        this.settling.delete(id);
        wait?.over(this.journal.get(id) as Entry);
      }
    }).catch((error) => this.fail(error));
  }

  #settleRetries(): void {
    for (const [id, wait] of this.#waits) {
      const entry = this.journal.get(id);
      if (entry?.retryAt === undefined || hasSettled(entry) || entry.retryAt > this.now) continue;
      this.#waits.delete(id);
      wait.over(entry);
    }
  }

  /** How the run should lie, if nothing is left to do in this process. */
  #rest(): Rest | undefined {
    if ((this.#active > 0 && !this.letGo.signal.aborted) || this.#over) return undefined;
    if (this.#whenIdle.length > 0) {
      for (const resolve of this.#whenIdle.splice(0)) resolve();
      return undefined;
    }
    if (this.returned && !this.ending) return undefined;
    if (this.#yielding) {
      const status = this.ending ? 'ENDING' : 'READY';
      const { version } = this.writer.opened.record;
      // An invocation that got nothing done counts as a failed attempt.
      const attempt = version > this.#claimed ? { claims: 0 } : { claims: this.work.claims, claimed: version + 1 };
      return { status, goesOn: true, work: (work) => ({ ...ready(work, this.now), ...attempt }) };
    }
    if (this.#waits.size === 0) return undefined;
    const waits = [...this.#waits.values()];
    const next = Math.min(...waits.map((wait) => wait.dueAt ?? Infinity));
    // It is over already: no reason to lie down.
    if (next <= this.now) {
      this.lookSoon();
      return undefined;
    }
    const dueAt = Math.min(next, this.work.deadline ?? Infinity);
    const status = this.ending
      ? 'ENDING'
      : (RANK.find((each) => waits.some((wait) => wait.status === each)) ?? 'SLEEPING');
    const rests = this.ending || undefined;
    return { status, work: (work) => ({ ...resting(work, dueAt), rests }) };
  }

  #changed(): void {
    if (this.#over) return;
    this.#wakeInTime();
    this.writer.kick();
  }

  /** While something else is active, what is due in this process is looked at in time. */
  #wakeInTime(): void {
    this.#timer?.abort();
    this.#timer = undefined;
    const dueAt = Math.min(...[...this.#waits.values()].map((wait) => wait.dueAt ?? Infinity));
    if (dueAt === Infinity || this.#active === 0) return;
    const timer = new AbortController();
    this.#timer = timer;
    this.runtime.clock.sleep(Math.max(0, dueAt - this.now), timer.signal).then(
      () => this.lookSoon(),
      () => {},
    );
  }

  #schedule(): void {
    const later = async (time: number, then: () => void) => {
      try {
        await this.runtime.clock.sleep(Math.max(0, time - this.now), this.#timers.signal);
        then();
        this.#changed();
      } catch {
        // The invocation is over.
      }
    };
    void later(this.#deadline - YIELD_MS, () => {
      this.#yielding = true;
    });
    void later(this.#deadline - LET_GO_MS, () => {
      this.letGo.abort();
    });
  }

  #end(end: InvocationEnd): void {
    if (this.#over) return;
    this.#over = true;
    this.writer.stop();
    this.#timers.abort();
    this.#timer?.abort();
    this.ended.resolve(end);
  }
}

// What a run is said to wait for when it waits for several things.
const RANK = ['WAITING_FOR_APPROVAL', 'WAITING_FOR_SIGNAL', 'SLEEPING'] as const satisfies readonly Status[];
