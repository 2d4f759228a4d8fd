import { type Duration, toMilliseconds } from '../core/duration.ts';
import type { Agent, AnyAgent, InvokeResult, StartOptions } from '../runtime/agent/agent.ts';
import type { AgentOptions } from '../runtime/agent/agent-options.ts';
import { sweepDue } from '../runtime/control/sweep.ts';
import type { ApprovalNotification } from '../runtime/definition/approval-notification.ts';
import type { SignalSchemas } from '../runtime/definition/signal-schemas.ts';
import type { Delivery, Runtime } from '../runtime/runtime.ts';
import { memoryStorage } from '../storage/memory.ts';
import type { Storage } from '../storage/ports.ts';
import { Deliveries } from './deliveries.ts';
import { nextDueAt } from './next-due.ts';
import { checkTimes, type StepFault, StepFaults } from './step-faults.ts';
import { StorageFaults } from './storage-faults.ts';
import { TestClock } from './test-clock.ts';
import { type TestRun, testRun } from './test-run.ts';

/** Options of `testAgents`. */
export interface TestOptions extends Omit<AgentOptions, 'clock' | 'deliver' | 'probe' | 'storage'> {
  /** Other agents, which the tested agent calls. */
  readonly agents?: readonly AnyAgent[];
  /** @default 2026-01-01 */
  readonly now?: Date;
  /** @default in memory */
  readonly storage?: Storage;
  /** The timeout of a function, as on Lambda. @default 15 minutes */
  readonly functionTimeout?: Duration;
  /** Makes each delivery twice, concurrently. @default false */
  readonly deliverTwice?: boolean;
}

/** How often a fault happens. */
export interface FaultCount {
  /** @default 1 */
  readonly times?: number;
}

/** An agent under test, with its runs, storage and clock in one process. */
export interface TestEnvironment<
  Input = unknown,
  State = unknown,
  Result = unknown,
  Signals extends SignalSchemas = SignalSchemas,
> {
  readonly agent: Agent<Input, State, Result, Signals>;
  readonly clock: TestClock;
  /** The notifications that approvers received. */
  readonly notifications: readonly ApprovalNotification[];
  /** The result of each invocation, in order of completion. */
  readonly invocations: readonly InvokeResult[];
  /** Starts a run, and runs it until it ends or waits. */
  start(input: Input, options?: StartOptions): Promise<TestRun<Result, Signals>>;
  run(id: string): TestRun<Result, Signals>;
  /** Runs every run until it ends or waits. */
  settle(): Promise<void>;
  /** Advances the clock; everything that becomes due on the way happens at its time. */
  skip(duration: Duration): Promise<void>;
  /** Crashes the process when it next reaches a point of a step. The run is then invoked again, as on Lambda. */
  crash(at: StepFault): void;
  /**
   * Stalls the process when it next reaches a point of a step. Its lease ends and another invocation takes over the
   * run, as far as it gets. Then the stalled process continues where it was.
   */
  stall(at: StepFault): void;
  /** Makes the next deliveries twice, concurrently. */
  duplicate(options?: FaultCount): void;
  /** Makes each storage request of the agents take this long by the clock. Zero makes them immediate again. */
  slowStorage(duration: Duration): void;
  /** Fails the next storage requests of the agents with STORAGE_UNAVAILABLE; they have no effect. */
  failStorage(options?: FaultCount): void;
}

/** Runs an agent in memory, with a clock that the test controls. */
export function testAgents<Input, State, Result, Signals extends SignalSchemas>(
  original: Agent<Input, State, Result, Signals>,
  options: TestOptions = {},
): TestEnvironment<Input, State, Result, Signals> {
  const { agents = [], now, storage, functionTimeout = { minutes: 15 }, deliverTwice, ...rest } = options;
  const clock = new TestClock((now ?? new Date('2026-01-01T00:00:00Z')).getTime());
  const steps = new StepFaults();
  const faults = new StorageFaults(storage ?? memoryStorage({ clock: () => clock.now() }), clock);
  const queue: Delivery[] = [];
  const notifications: ApprovalNotification[] = [];
  const agentOptions: AgentOptions = {
    log: () => {},
    approvalUrl: 'https://approvals.test/',
    random: () => 0.5,
    ...rest,
    clock,
    storage: faults.storage,
    deliver: async (delivery) => void queue.push(delivery),
    probe: steps.probe,
  };
  const agent = original.with(agentOptions);
  const allAgents = [agent, ...agents.map((other) => other.with(agentOptions))];
  const agentsByName = new Map(allAgents.map((each) => [each.name, each]));
  const deliveries = new Deliveries(queue, {
    clock,
    steps,
    storage: faults,
    agents: agentsByName,
    functionMs: toMilliseconds('`functionTimeout`', functionTimeout),
    nextDueAt: () => nextDueAt(agent.runtime, clock.now()),
    sweep: () => sweep(agent.runtime, agentsByName, agentOptions.approvalUrl, notifications),
  });
  if (deliverTwice) deliveries.duplicates = Infinity;
  const settle = () => deliveries.settle();
  const run = (id: string) => testRun(agent, id, clock, settle);
  return {
    agent,
    clock,
    notifications,
    invocations: deliveries.invocations,
    run,
    settle,
    async start(input, startOptions) {
      const { id } = await agent.start(input, startOptions);
      await settle();
      return run(id);
    },
    skip: (duration) => skip(agent.runtime, clock, duration, settle),
    crash: (at) => steps.plan('crash', at),
    stall: (at) => steps.plan('stall', at),
    duplicate({ times } = {}) {
      deliveries.duplicates += checkTimes(times);
    },
    slowStorage(duration) {
      faults.delayMs = toMilliseconds('The duration of a storage request', duration);
    },
    failStorage({ times } = {}) {
      faults.failures += checkTimes(times);
    },
  };
}

/** Sweeps once and collects the notifications; returns whether anything was due. */
async function sweep(
  runtime: Runtime,
  agents: ReadonlyMap<string, AnyAgent>,
  url: string | undefined,
  notifications: ApprovalNotification[],
): Promise<boolean> {
  const { approvals, delivered } = await sweepDue({
    runtime,
    notifierFor: (name) => {
      const notifier = agents.get(name ?? '')?.notifier ?? { url, notify: async () => {} };
      return {
        ...notifier,
        notify: async (notification) => {
          notifications.push(notification);
          await notifier.notify(notification);
        },
      };
    },
  });
  return approvals > 0 || delivered > 0;
}

/** Advances the clock; everything that becomes due on the way happens at its time. */
async function skip(
  runtime: Runtime,
  clock: TestClock,
  duration: Duration,
  settle: () => Promise<void>,
): Promise<void> {
  const end = clock.now() + toMilliseconds('The duration to skip', duration);
  await settle();
  for (;;) {
    const next = await nextDueAt(runtime, clock.now());
    if (next === undefined || next > end) break;
    clock.moveTo(next);
    await settle();
  }
  clock.moveTo(end);
  await settle();
}
