import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import type { RunContext, RuntimeMeta } from '../../checkpoints/engine.ts';
import { decodeResult } from '../../checkpoints/engine.ts';
import { isStorageError, type WaitstateError } from '../../core/errors.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { Status } from '../../core/status.ts';
import type { StepContext } from '../definition/agent-context.ts';
import type { AgentDefinition } from '../definition/agent-definition.ts';
import { agentMisuse } from '../definition/agent-errors.ts';
import { CURSOR_ID, checkEntry, type Entry, type EntryKind, nonDeterminismError } from '../journal/entries.ts';
import type { Identity, Scope } from '../journal/identity.ts';
import { Journal } from '../journal/journal.ts';
import type { Runtime, StepPhase } from '../runtime.ts';
import { NO_WORK, timesOutAt } from '../wake/work.ts';
import type { BatchItem } from './batch.ts';
import { Fenced } from './catch-up.ts';
import type { ClaimedRun } from './claim.ts';
import { CompletionOrder } from './completion-order.ts';
import { EditedState } from './edited-state.ts';
import { Lifetime } from './lifetime.ts';
import { PendingWaits } from './pending-waits.ts';
import { type Suspension, suspendUntil, yieldToNextInvocation } from './suspend.ts';
import { RunWriter } from './writer.ts';

/** How an invocation of an agent ended. */
export type InvocationEnd =
  /** The run is over; `parent` waited for it. */
  | { readonly end: 'finished'; readonly status: Status; readonly parent?: string }
  /** The run waits, or goes on in another invocation at once. */
  | { readonly end: 'suspended'; readonly status: Status; readonly continues?: true }
  /** Somebody else has the run. */
  | { readonly end: 'fenced' }
  | { readonly end: 'failed'; readonly error: unknown };

/**
 * One invocation of an agent for one run: what it does at the moment, what it waits for, and its journal. It lies down
 * when nothing is left to do but to wait, and yields when the time of the function is nearly over.
 */
export class Invocation {
  readonly runtime: Runtime;
  readonly at: RunContext;
  readonly agent: AgentDefinition<never, unknown, unknown>;
  readonly writer: RunWriter;
  readonly journal: Journal;
  readonly pendingWaits = new PendingWaits(this);
  readonly lifetime: Lifetime;
  readonly ended = Promise.withResolvers<InvocationEnd>();
  /** What the code that is running is inside of, if it is one piece: a step, an edit. */
  readonly inStep = new AsyncLocalStorage<string>();
  /** Resolves when the run has to end in another way than by its agent. */
  readonly superseded = Promise.withResolvers<void>();
  /** What takes back the steps of this run, by their identities; and at which of them errors came up. */
  readonly undos = new Map<string, (result: never, tools: StepContext) => unknown>();
  readonly failedAt = new WeakMap<object, string>();
  /** Places in the cache that were taken in this invocation. */
  readonly takenCacheIds = new Set<string>();
  /** The end of the turn that ended the run, to be written with the end; one in which it did not succeed is not over. */
  lastTurn: BatchItem | undefined;
  /** The state as of this point of a replay. */
  replayedState = new EditedState(undefined);
  /** Whether the run is on its way to its end, so that nothing new is begun. */
  isEnding: boolean;
  /** That the code does not fit the journal: the run fails with it, whatever the agent does about it. */
  nonDeterminism: WaitstateError | undefined;
  /** The agent's function has returned, or thrown. */
  hasReturned = false;
  /** An operation was reached that is not in the journal: from here on it is no replay. */
  isLive = false;
  readonly #claimed: number;
  readonly #settled: ReadonlySet<string>;
  readonly #inTurn = new CompletionOrder();
  #active = 0;
  #over = false;
  readonly #whenIdle: (() => void)[] = [];

  constructor(runtime: Runtime, at: RunContext, agent: AgentDefinition<never, unknown, unknown>, claimed: ClaimedRun) {
    this.runtime = runtime;
    this.at = at;
    this.agent = agent;
    this.journal = new Journal(claimed.journal);
    this.isLive = !this.journal.hasOperations;
    this.isEnding = claimed.loaded.head.meta.status === 'ENDING';
    this.#claimed = claimed.loaded.record.version;
    this.#settled = claimed.settled;
    this.writer = new RunWriter(at, claimed.loaded, claimed.seenWake, {
      suspension: () => this.#rest(),
      onWake: () => this.pendingWaits.checkOutcomes(),
      onCancel: () => {
        // On the way to another end it goes on as it is: what it waits for is to undo something.
        if (this.isEnding) return;
        this.isEnding = true;
        this.pendingWaits.stopAll();
        this.superseded.resolve();
      },
      onSuspended: ({ status, continues }) => this.#end({ end: 'suspended', status, ...omitUndefined({ continues }) }),
      onFailure: (error) => this.#end(error instanceof Fenced ? { end: 'fenced' } : { end: 'failed', error }),
    });
    this.lifetime = new Lifetime(runtime.clock, claimed.until, () => this.checkSuspend());
  }

  get now(): number {
    return this.runtime.clock.now();
  }

  get work(): RuntimeMeta {
    return this.writer.loaded.head.meta.work ?? NO_WORK;
  }

  /** Whether operations that are not recorded may begin; those that may not are left waiting. */
  get canBegin(): boolean {
    return !this.isEnding && !this.nonDeterminism && !this.lifetime.isYielding && !this.#over;
  }

  /** Refuses a call from inside of a step, or after the agent has returned; a branch that was left may still make one. */
  checkCall(what: string, scope: Scope): void {
    const piece = this.inStep.getStore();
    if (piece !== undefined)
      throw agentMisuse(`\`${what}\` was called inside of ${piece}, which is one piece. Call it before or after.`);
    if (this.hasReturned && !scope.isClosed)
      throw agentMisuse(`\`${what}\` was called after the agent had returned. Await what you start.`);
  }

  /** Refuses an entry of another operation, and with it the code. */
  checkEntry(id: string, entry: Entry, kind: EntryKind, hash: string | undefined): void {
    try {
      checkEntry(id, entry, kind, hash);
    } catch (error) {
      throw this.failAsNonDeterministic(error as WaitstateError);
    }
  }

  /** Fails the run with what does not fit; gives it back to be thrown. */
  failAsNonDeterministic(error: WaitstateError): WaitstateError {
    this.nonDeterminism ??= error;
    this.pendingWaits.stopAll();
    this.superseded.resolve();
    return error;
  }

  /** The key by which services recognise a piece of work that they did before. */
  idempotencyKey(id: string): string {
    return this.seedFor(`${this.work.epoch ?? 0}\n${id}`);
  }

  /** A text that nobody can guess, the same for this place of the run for as long as it lives. */
  seedFor(place: string): string {
    const { born } = this.writer.loaded.head.meta;
    const seed = [this.at.partition, born, place].join('\n');
    return createHash('sha256').update(seed).digest('base64url').slice(0, 32);
  }

  /** An operation of the agent under its identity, from when it is asked for until it is its turn to go on. */
  async runOperation<T>({ id, release: leave }: Identity, work: () => Promise<T>): Promise<T> {
    // A branch that was left got its result only now: its error would be of our making, and nobody waits for its value.
    if (this.hasReturned) return this.hang();
    this.journal.markReplayed(id);
    try {
      return await work();
    } finally {
      const { seq: place } = this.journal.get(id) ?? {};
      if (place !== undefined) await this.runActive(() => this.#inTurn.wait(place));
      leave();
    }
  }

  /** Goes on when an operation that is not recorded may begin; left waiting otherwise. From here on it is no replay. */
  async begin(scope: Scope | undefined, id: string): Promise<void> {
    if (scope?.isClosed || !this.canBegin) return this.hang();
    if (scope && !this.journal.has(id)) await this.#checkPlace(scope.path, id);
    this.isLive = true;
  }

  /** Refuses code that begins something new where something else is recorded. */
  async #checkPlace(path: string, id: string): Promise<void> {
    const { journal } = this;
    if (this.work.edited || journal.nextUnreplayed(path) === undefined) return;
    await this.runActive(() => journal.waitForReplay(path, this.runtime.clock));
    const recorded = journal.nextUnreplayed(path);
    if (recorded === undefined) return;
    throw this.failAsNonDeterministic(
      nonDeterminismError(id, 'comes next in this code', `"${recorded}" was recorded there, for which it did not ask`),
    );
  }

  /** Puts entries into the journal and resolves when they are confirmed. */
  async record(given: BatchItem): Promise<void> {
    const entries = given.entries?.map(([id, entry]) => [id, this.journal.withSeq(id, entry)] as const);
    const item = { ...given, ...(entries && { entries }) };
    await this.writer.record(item);
    for (const id of item.forget ?? []) this.journal.delete(id);
    // What comes out is what a replay would give: the agent never sees anything else.
    for (const [id] of item.entries ?? []) {
      // Who looked at the events has set it, and may have set it again since: it must not go back.
      if (id !== CURSOR_ID) this.journal.set(id, decodeResult(this.at, this.writer.loaded, id) as Entry);
    }
  }

  /** Runs something that keeps the invocation from lying down. */
  async runActive<T>(work: () => Promise<T>): Promise<T> {
    this.#active += 1;
    try {
      return await work();
    } finally {
      this.#active -= 1;
      this.checkSuspend();
    }
  }

  /** The same for what goes to the storage: when that fails it is this invocation that fails; the agent never sees it. */
  async runStorageCall<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.runActive(work);
    } catch (error) {
      if (!isStorageError(error)) throw error;
      this.fail(error);
      return this.hang();
    }
  }

  /** A wait that was over was reached; if nobody knew that before, it is no replay from here on. */
  markReached(id: string): void {
    if (this.#settled.has(id)) this.isLive = true;
  }

  /** Passes a moment of a step; a test may let the process die here. */
  async probe(moment: StepPhase, step: string): Promise<void> {
    if (this.runtime.probe?.(moment, this.at.run, step) !== 'crash') return;
    this.fail(new Error(`The process died ${moment} step "${step}", as the test wanted.`));
    await this.hang();
  }

  /** Left waiting: a promise that never settles, because the rest is not for this invocation. */
  hang(): Promise<never> {
    this.checkSuspend();
    return new Promise(() => {});
  }

  /** Resolves when nothing is active, written or replayed any more. */
  waitUntilIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenIdle.push(resolve);
      this.checkSuspend();
    });
  }

  /** The run has ended, in this status. */
  finish(status: Status): void {
    const { replyTo: parent } = this.work;
    this.#end({ end: 'finished', status, ...omitUndefined({ parent }) });
  }

  fail(error: unknown): void {
    this.#end({ end: 'failed', error });
  }

  /** How the run should lie, if nothing is left to do in this process. */
  #rest(): Suspension | undefined {
    const { isEnding: ending, lifetime, pendingWaits: waiting, work } = this;
    if ((this.#active > 0 && !lifetime.cutoff.signal.aborted) || this.#over) return undefined;
    if (this.#whenIdle.length > 0) {
      for (const resolve of this.#whenIdle.splice(0)) resolve();
      // Who waited may have nothing to do by now: the run still has to suspend.
      queueMicrotask(() => this.checkSuspend());
      return undefined;
    }
    if (this.hasReturned && !ending) return undefined;
    if (lifetime.isYielding) {
      const { version } = this.writer.loaded.record;
      return yieldToNextInvocation(ending, () => this.now, { claims: work.claims, claimed: this.#claimed, version });
    }
    const { statuses, dueAt } = waiting;
    if (statuses.length === 0) return undefined;
    // It is over already: no reason to lie down.
    if (dueAt <= this.now) {
      waiting.checkOutcomesSoon();
      return undefined;
    }
    return suspendUntil(Math.min(dueAt, timesOutAt(this.writer.loaded.head.meta)), statuses, ending);
  }

  /** Something began or ended: the run may have to lie down. */
  checkSuspend(): void {
    if (this.#over) return;
    this.pendingWaits.setTimer(this.#active > 0);
    this.writer.flush();
  }

  #end(end: InvocationEnd): void {
    if (this.#over) return;
    this.#over = true;
    this.writer.stop();
    this.lifetime.end();
    this.pendingWaits.clearTimer();
    this.ended.resolve(end);
  }
}
