import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { decodeResult, type RunContext, type RuntimeMeta } from '../../checkpoints/engine.ts';
import { isStorageError, type WaitstateError } from '../../core/errors.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { Status } from '../../core/status.ts';
import type { StepContext } from '../definition/agent-context.ts';
import type { AgentDefinition } from '../definition/agent-definition.ts';
import { agentMisuse } from '../definition/agent-errors.ts';
import {
  CURSOR_ID,
  checkEntry,
  type Entry,
  type EntryKind,
  type EntryOf,
  nonDeterminismError,
} from '../journal/entries.ts';
import type { Identity, Scope } from '../journal/identity.ts';
import { Journal } from '../journal/journal.ts';
import type { Runtime, StepPhase } from '../runtime.ts';
import { NO_WORK } from '../wake/work.ts';
import { Activity } from './activity.ts';
import type { BatchItem } from './batch.ts';
import { Fenced } from './catch-up.ts';
import type { ClaimedRun } from './claim.ts';
import { CompletionOrder } from './completion-order.ts';
import { EditedState } from './edited-state.ts';
import { EmittedEvents } from './emitted-events.ts';
import type { InvocationEnd } from './invocation-end.ts';
import { Lifetime } from './lifetime.ts';
import type { LiveOutput } from './live-output.ts';
import { PendingWaits, type WaitingInvocation } from './pending-waits.ts';
import { type SuspendableInvocation, writeQueued } from './suspend.ts';
import type { Suspension } from './suspension.ts';
import { WriteQueue } from './write-queue.ts';
import { RunWriter } from './writer.ts';

/**
 * One invocation of an agent for one run: its journal, what is running, and what it waits for. `suspend.ts` says when
 * the run suspends; `Lifetime` says when it yields because the function's time is nearly used up.
 */
export class Invocation implements SuspendableInvocation, WaitingInvocation {
  readonly runtime: Runtime;
  readonly at: RunContext;
  readonly agent: AgentDefinition<never, unknown, unknown>;
  readonly writer: RunWriter;
  readonly queue: WriteQueue;
  readonly events: EmittedEvents;
  readonly journal: Journal;
  readonly pendingWaits = new PendingWaits(this);
  readonly lifetime: Lifetime;
  readonly ended = Promise.withResolvers<InvocationEnd>();
  /** The step or edit that contains the running code. */
  readonly inStep = new AsyncLocalStorage<string>();
  /** Resolves when the run has to end in another way than by its agent: a cancel, a timeout, non-determinism. */
  readonly superseded = Promise.withResolvers<void>();
  /** The functions that undo steps, by the id of the step. */
  readonly undos = new Map<string, (result: never, tools: StepContext) => unknown>();
  /** The operation that each error came from. */
  readonly failedOperations = new WeakMap<object, string>();
  /** The cache ids that this invocation has used. */
  readonly takenCacheIds = new Set<string>();
  /** The last turn of the run; it is written together with the end of the run. */
  lastTurn: BatchItem | undefined;
  /** The state at this point of a replay. */
  replayedState = new EditedState(undefined);
  /** Whether the run is ending, so that nothing new begins. */
  isEnding: boolean;
  /** The error of code that does not match the journal: the run fails with it, even if the agent catches it. */
  nonDeterminism: WaitstateError | undefined;
  /** Whether the agent's function has returned or thrown. */
  hasReturned = false;
  /** Whether the replay has ended, because the code reached an operation that is not in the journal. */
  isLive = false;
  /** The version of the checkpoint that claimed the run. */
  readonly claimedVersion: number;
  readonly #settledByClaim: ReadonlySet<string>;
  readonly #completionOrder = new CompletionOrder();
  readonly #activity = new Activity(() => this.checkSuspend());
  #liveOutput: Promise<LiveOutput> | undefined;
  #isOver = false;

  constructor(runtime: Runtime, at: RunContext, agent: AgentDefinition<never, unknown, unknown>, claimed: ClaimedRun) {
    this.runtime = runtime;
    this.at = at;
    this.agent = agent;
    this.journal = new Journal(claimed.journal);
    this.events = new EmittedEvents(at, claimed.journal);
    this.queue = new WriteQueue(this.events);
    this.isLive = !this.journal.hasOperations;
    this.isEnding = claimed.loaded.head.meta.status === 'ENDING';
    this.claimedVersion = claimed.loaded.record.version;
    this.#settledByClaim = claimed.settled;
    this.writer = new RunWriter(at, claimed.loaded, claimed.seenEventCount);
    this.lifetime = new Lifetime(runtime.clock, claimed.until, () => this.checkSuspend());
  }

  get now(): number {
    return this.at.now();
  }

  get work(): RuntimeMeta {
    return this.writer.loaded.head.meta.work ?? NO_WORK;
  }

  /** Whether new operations may begin; otherwise their promises stay pending. */
  get canBegin(): boolean {
    return !this.isEnding && !this.nonDeterminism && !this.lifetime.isYielding && !this.#isOver;
  }

  /** Refuses a call inside a step, or after the agent has returned. An abandoned branch may still make calls. */
  checkCall(method: string, scope: Scope): void {
    const enclosing = this.inStep.getStore();
    if (enclosing !== undefined)
      throw agentMisuse(
        `\`${method}\` was called inside ${enclosing}. Operations cannot be nested: call it before or after.`,
      );
    if (this.hasReturned && !scope.isClosed)
      throw agentMisuse(`\`${method}\` was called after the agent had returned. Await every operation that you start.`);
  }

  /** The recorded entry of an operation; fails the run if the journal has another operation under this id. */
  recorded<Kind extends EntryKind>(id: string, kind: Kind, hash?: string): EntryOf<Kind> | undefined {
    const entry = this.journal.get(id);
    if (!entry) return undefined;
    try {
      checkEntry(id, entry, kind, hash);
    } catch (error) {
      throw this.failAsNonDeterministic(error as WaitstateError);
    }
    return entry as EntryOf<Kind>;
  }

  /** Fails the run with a non-determinism error, and returns the error to be thrown. */
  failAsNonDeterministic(error: WaitstateError): WaitstateError {
    this.nonDeterminism ??= error;
    this.pendingWaits.stopAll();
    this.superseded.resolve();
    return error;
  }

  /** The idempotency key of an operation: the same for each of its attempts. */
  idempotencyKey(id: string): string {
    return this.seedFor(`${this.work.epoch ?? 0}\n${id}`);
  }

  /** Unguessable text that is the same for an id for as long as the run exists. */
  seedFor(id: string): string {
    const { uid } = this.writer.loaded.head.meta;
    const seed = [this.at.partition, uid, id].join('\n');
    return createHash('sha256').update(seed).digest('base64url').slice(0, 32);
  }

  /** Runs an operation under its id; its promise settles in the order in which operations completed. */
  async runOperation<T>({ id, release }: Identity, work: () => Promise<T>): Promise<T> {
    // After the agent has returned, only abandoned branches call operations, and their values are not needed.
    if (this.hasReturned) return this.hang();
    this.journal.markCalled(id);
    try {
      return await work();
    } finally {
      const { seq } = this.journal.get(id) ?? {};
      if (seq !== undefined) await this.runActive(() => this.#completionOrder.wait(seq));
      this.journal.markReturned(id);
      release();
    }
  }

  /** Resolves when a new operation may begin, which ends the replay; otherwise stays pending. */
  async begin(scope: Scope | undefined, id: string): Promise<void> {
    if (scope?.isClosed || !this.canBegin) return this.hang();
    if (scope && !this.journal.has(id)) await this.#checkNextOperation(scope.path, id);
    this.isLive = true;
  }

  /** Fails the run if the code begins a new operation where the journal has another one. */
  async #checkNextOperation(path: string, id: string): Promise<void> {
    const { journal } = this;
    if (this.work.edited || !journal.hasUnreplayed(path)) return;
    const recorded = await this.runActive(() => journal.waitForReplay(path, this.runtime.clock));
    if (recorded === undefined) return;
    throw this.failAsNonDeterministic(
      nonDeterminismError(id, 'comes next in this code', `"${recorded}" comes next in the journal`),
    );
  }

  /** Records an item; resolves when it is confirmed and its entries are in the journal. */
  async record(unnumbered: BatchItem): Promise<void> {
    const entries = unnumbered.entries?.map(([id, entry]) => [id, this.journal.withSeq(id, entry)] as const);
    const item = { ...unnumbered, ...(entries && { entries }) };
    const confirmed = this.queue.add(item);
    this.#flush();
    await confirmed;
    for (const id of item.forget ?? []) this.journal.delete(id);
    // Decoded from what was stored, so that the agent sees the same value as in a replay.
    for (const [id] of item.entries ?? []) {
      // The cursor was set when events were read, and may have advanced since.
      if (id !== CURSOR_ID) this.journal.set(id, decodeResult(this.at, this.writer.loaded, id) as Entry);
    }
  }

  /** Runs something that keeps the run from suspending. */
  runActive<T>(work: () => Promise<T>): Promise<T> {
    return this.#activity.run(work);
  }

  /** Runs a storage call. When the storage fails, this invocation fails; the agent never sees that error. */
  async runStorageCall<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.runActive(work);
    } catch (error) {
      if (!isStorageError(error)) throw error;
      this.fail(error);
      return this.hang();
    }
  }

  /** Shows output of a step that is running. Its code is loaded by the first output. */
  stream(id: string, attempt: number, output: unknown): void {
    this.#liveOutput ??= import('./live-output.ts').then(({ LiveOutput }) => new LiveOutput(this));
    this.#liveOutput.then((live) => live.add(id, attempt, output)).catch(() => {});
  }

  /** The code reached a settled wait. If this claim settled it, the replay has ended. */
  markReached(id: string): void {
    if (this.#settledByClaim.has(id)) this.isLive = true;
  }

  /** Reports the phase of a step to tests, which may crash the process here. */
  async probe(phase: StepPhase, step: string): Promise<void> {
    if ((await this.runtime.probe?.(phase, this.at.run, step)) !== 'crash') return;
    this.fail(new Error(`The process crashed ${phase} step "${step}", as the test planned.`));
    await this.hang();
  }

  /** A promise that never settles: the rest is for another invocation. */
  hang(): Promise<never> {
    this.checkSuspend();
    return new Promise(() => {});
  }

  /** Resolves when nothing is running, being written or being replayed. */
  waitUntilIdle(): Promise<void> {
    return this.#activity.waitUntilIdle();
  }

  /** Ends the invocation: the run has ended in this status. */
  finish(status: Status): void {
    const { replyTo: parent } = this.work;
    this.#end({ end: 'finished', status, ...omitUndefined({ parent }) });
  }

  fail(error: unknown): void {
    this.#end({ end: 'failed', error });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether something is running that must complete before the run suspends; false once the function's time is up. */
  get isBusy(): boolean {
    return this.#activity.isRunning && !this.lifetime.cutoff.signal.aborted;
  }

  /** Resumes the callers of `waitUntilIdle`; returns whether there were any. */
  releaseIdleWaiters(): boolean {
    return this.#activity.releaseIdleWaiters();
  }

  /** The run was cancelled or has timed out. A run that is already ending continues: it waits to undo something. */
  supersede(): void {
    if (this.isEnding) return;
    this.isEnding = true;
    this.pendingWaits.stopAll();
    this.superseded.resolve();
  }

  endSuspended({ status, continues }: Suspension): void {
    this.#end({ end: 'suspended', status, ...omitUndefined({ continues }) });
  }

  /** Something began or completed: writes what is queued, and suspends the run if it only waits. */
  checkSuspend(): void {
    if (this.#isOver) return;
    this.pendingWaits.setTimer(this.#activity.isRunning);
    this.#flush();
  }

  #flush(): void {
    const { queue } = this;
    if (queue.isBeingWritten || this.#isOver) return;
    queue.isBeingWritten = true;
    writeQueued(this).catch((error: unknown) =>
      this.#end(error instanceof Fenced ? { end: 'fenced' } : { end: 'failed', error }),
    );
  }

  #end(end: InvocationEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.lifetime.end();
    this.pendingWaits.clearTimer();
    this.ended.resolve(end);
  }
}
