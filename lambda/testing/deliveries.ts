import { setImmediate as tick } from 'node:timers/promises';
import { isWaitstateError, WaitstateError } from '../core/errors.ts';
import type { AnyAgent, InvokeResult } from '../runtime/agent/agent.ts';
import { SHUTDOWN_MARGIN_MS } from '../runtime/agent/lambda-handler.ts';
import { LEASE_GRACE_MS } from '../runtime/invocation/claim.ts';
import type { Delivery } from '../runtime/runtime.ts';
import { pause, RealWork } from './real-work.ts';
import type { StepFaults } from './step-faults.ts';
import type { StorageFaults } from './storage-faults.ts';
import type { TestClock } from './test-clock.ts';
import { currentProcess, TestProcess } from './test-process.ts';

// How long nothing may happen, in real time, before the clock advances: to the end of a sleep, and to a deadline, such as
// the timeout of a step. It is longer if the process has connections over which a response may come. Threads that
// compute postpone it, up to a limit, because their work is not visible.
const QUIET_BEFORE_SLEEP_MS = 20;
const QUIET_BEFORE_DEADLINE_MS = 250;
const QUIET_WITH_CONNECTIONS_MS = 2_000;
const MAX_QUIET_MS = 5_000;
// An idle process uses about one percent; on a busy machine, a computing thread may get only a small share.
const COMPUTING_SHARE = 0.08;

// How many attempts a delivery gets that fail, or that are stopped at their timeout.
const MAX_FAILURES = 100;
const MAX_TIMEOUTS = 3;

/** The test environment that deliveries run in. */
interface DeliveryEnvironment {
  readonly clock: TestClock;
  readonly steps: StepFaults;
  readonly storage: StorageFaults;
  readonly agents: ReadonlyMap<string, AnyAgent>;
  readonly functionMs: number;
  /** Sweeps once; returns whether anything was due. */
  readonly sweep: () => Promise<boolean>;
  /** When the next stored record is due. */
  readonly nextDueAt: () => Promise<number | undefined>;
}

/** Delivers runs to their agents as AWS does, until every run has ended or waits. */
export class Deliveries {
  /** The result of each invocation, in order of completion. */
  readonly invocations: InvokeResult[] = [];
  /** How many of the next deliveries are made twice. */
  duplicates = 0;
  readonly #queue: Delivery[];
  readonly #environment: DeliveryEnvironment;
  /** The processes of the invocations that have not ended, with the end of their leases. */
  readonly #processes = new Map<TestProcess, number>();
  readonly #realWork = new RealWork();
  #count = 0;
  /** The activity after which nothing happened before the clock last advanced. */
  #quietSince: string | undefined;

  constructor(queue: Delivery[], environment: DeliveryEnvironment) {
    this.#queue = queue;
    this.#environment = environment;
  }

  /** Runs every run as far as it gets without advancing the clock beyond short waits. */
  async settle(): Promise<void> {
    this.#realWork.start();
    try {
      await this.#settle();
    } finally {
      this.#realWork.stop();
    }
  }

  async #settle(): Promise<void> {
    let failure: unknown;
    for (;;) {
      this.#deliver((error) => {
        failure ??= error;
      });
      if (this.#isRunning) await this.#advance();
      if (failure) throw failure;
      if (this.#isRunning || this.#queue.length > 0) continue;
      const wasSwept = await this.#environment.sweep();
      if (this.#queue.length > 0 || wasSwept) continue;
      if (this.#processes.size === 0) return;
      await this.#continueStalled();
    }
  }

  /** Whether an invocation is in progress and its process has not stalled. */
  get #isRunning(): boolean {
    return [...this.#processes.keys()].some(({ isStalled }) => !isStalled);
  }

  get #runningSteps(): number {
    const processes = [this.#environment.steps.ownProcess, ...this.#processes.keys()];
    return processes.reduce((sum, { isStopped, runningSteps }) => sum + (isStopped ? 0 : runningSteps), 0);
  }

  #deliver(onFailure: (error: unknown) => void): void {
    for (const delivery of this.#queue.splice(0)) {
      const copies = this.duplicates > 0 ? 2 : 1;
      this.duplicates -= copies - 1;
      for (let i = 0; i < copies; i++) {
        this.#count += 1;
        this.#invokeWithRetries(delivery, `invocation-${this.#count}`).catch(onFailure);
      }
    }
  }

  /** Invokes the agent, again with the same id when it fails, as Lambda does for asynchronous invocations. */
  async #invokeWithRetries(delivery: Delivery, by: string): Promise<void> {
    const agent = this.#environment.agents.get(delivery.agent ?? '');
    if (!agent)
      throw new WaitstateError(
        'AGENT_NOT_FOUND',
        `Run "${delivery.run}" belongs to agent "${delivery.agent}", which this test does not have. Pass the agent in \`agents\`.`,
      );
    for (let [failures, timeouts] = [0, 0]; ; ) {
      const outcome = await this.#invoke(agent, delivery, by);
      this.invocations.push(outcome);
      if (outcome.end !== 'failed') return;
      failures += 1;
      if (isWaitstateError(outcome.error, 'TIMED_OUT')) timeouts += 1;
      if (failures < MAX_FAILURES && timeouts < MAX_TIMEOUTS) continue;
      throw new WaitstateError(
        'RUN_FAILED',
        `Run "${delivery.run}" was invoked ${failures} times, and each invocation failed: ${String(outcome.error)}`,
        { cause: outcome.error },
      );
    }
  }

  async #invoke(agent: AnyAgent, delivery: Delivery, by: string): Promise<InvokeResult> {
    const { clock, functionMs } = this.#environment;
    const process = new TestProcess();
    const ended = new AbortController();
    const until = clock.now() + functionMs;
    this.#processes.set(process, until + LEASE_GRACE_MS);
    try {
      return await currentProcess.run(process, () =>
        Promise.race([agent.invoke(delivery, { by, until }), this.#stopFunction(process, ended.signal)]),
      );
    } catch (error) {
      if (isWaitstateError(error, 'STORAGE_UNAVAILABLE')) return { end: 'failed', error };
      throw error;
    } finally {
      ended.abort();
      process.end();
      this.#processes.delete(process);
    }
  }

  /** Stops a function when its time is over, as Lambda does. */
  async #stopFunction(process: TestProcess, ended: AbortSignal): Promise<InvokeResult> {
    const { clock, functionMs } = this.#environment;
    await clock.sleep(functionMs, ended, true);
    // Counted from here, so that a step that advances the clock far beyond leaves the process time to end.
    await clock.sleep(SHUTDOWN_MARGIN_MS, ended, true);
    if (process.hasStalled) return new Promise(() => {});
    return { end: 'failed', error: new WaitstateError('TIMED_OUT', 'The function was stopped at its timeout.') };
  }

  /** Lets the invocations get as far as they can, and advances the clock when all of them wait for it. */
  async #advance(): Promise<void> {
    const { clock, sweep, nextDueAt } = this.#environment;
    for (let ticks = 0; ticks < 16 && this.#isRunning; ticks++) await tick();
    if (!this.#isRunning || this.#queue.length > 0) return;
    const { next = Infinity, nextDeadline = Infinity } = clock;
    if (this.#runningSteps === 0 && next <= nextDeadline) return clock.moveTo(next);
    if (!(await this.#isQuietFor(this.#quietMs(next, nextDeadline)))) return;
    this.#quietSince = this.#activity();
    // Records that are due first, such as a reminder or the timeout of a run, are processed at their time.
    const due = (await nextDueAt()) ?? Infinity;
    clock.moveTo(Math.min(next, nextDeadline, due));
    if (due <= clock.now()) await sweep();
  }

  /** How long nothing may happen before the clock advances. */
  #quietMs(next: number, nextDeadline: number): number {
    const isSleep = next <= nextDeadline || (next < Infinity && this.#runningSteps === 0);
    if (isSleep || this.#quietSince === this.#activity()) return QUIET_BEFORE_SLEEP_MS;
    return this.#realWork.hasOldConnections ? QUIET_WITH_CONNECTIONS_MS : QUIET_BEFORE_DEADLINE_MS;
  }

  /** Watches for a while in real time; returns false as soon as something happens. */
  async #isQuietFor(milliseconds: number): Promise<boolean> {
    const { clock } = this.#environment;
    const now = clock.now();
    const before = this.#activity();
    for (let [quietMs, waitedMs] = [0, 0]; ; ) {
      if (quietMs === 0) this.#realWork.takeCpuShare();
      const pauseMs = waitedMs < QUIET_BEFORE_SLEEP_MS ? 1 : 5;
      await pause(pauseMs);
      waitedMs += pauseMs;
      // A step that really takes longer than its timeout times out, too.
      if (clock.overdue !== undefined) clock.moveTo(clock.overdue);
      if (this.#activity() !== before || clock.now() > now) return false;
      quietMs = this.#realWork.isActive ? 0 : quietMs + pauseMs;
      if (quietMs < milliseconds) continue;
      if (waitedMs >= MAX_QUIET_MS || this.#realWork.takeCpuShare() < COMPUTING_SHARE) return true;
      quietMs = 0;
    }
  }

  /** A text that changes whenever an invocation does something. */
  #activity(): string {
    const { clock, steps, storage } = this.#environment;
    const counts = [this.#count, this.#processes.size, this.#queue.length, steps.passed, storage.requests];
    return [...counts, clock.sleeps].join();
  }

  /** Advances the clock until the leases of stalled processes have ended; then the processes continue. */
  async #continueStalled(): Promise<void> {
    const { clock, nextDueAt } = this.#environment;
    const leasesEnd = Math.max(...this.#processes.values());
    if (clock.now() < leasesEnd) return clock.moveTo(Math.min((await nextDueAt()) ?? Infinity, leasesEnd));
    for (const process of this.#processes.keys()) process.resume();
  }
}
