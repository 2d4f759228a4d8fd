import { type Duration, toMilliseconds } from '../../core/duration.ts';
import { memoryStorage } from '../../storage/memory.ts';
import type { Storage } from '../../storage/ports.ts';
import type { Agent, AnyAgent, InvokeResult, StartOptions } from '../agent/agent.ts';
import type { AgentOptions } from '../agent/agent-options.ts';
import { sweepDue } from '../control/sweep.ts';
import type { ApprovalNotification } from '../definition/approval-notification.ts';
import type { Delivery, Runtime } from '../runtime.ts';
import { Deliveries } from './deliveries.ts';
import { nextDueAt } from './next-due.ts';
import { type Crash, StepTracker } from './steps.ts';
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

/** An agent under test, with its runs, storage and clock in one process. */
export interface TestEnvironment<Input = unknown, State = unknown, Result = unknown> {
  readonly agent: Agent<Input, State, Result>;
  readonly clock: TestClock;
  /** The notifications that approvers received. */
  readonly notifications: readonly ApprovalNotification[];
  /** The result of each invocation, in order of completion. */
  readonly invocations: readonly InvokeResult[];
  /** Starts a run, and runs it until it ends or waits. */
  start(input: Input, options?: StartOptions): Promise<TestRun<Result>>;
  run(id: string): TestRun<Result>;
  /** Runs every run until it ends or waits. */
  settle(): Promise<void>;
  /** Advances the clock; everything that becomes due on the way happens at its time. */
  skip(duration: Duration): Promise<void>;
  /** Crashes the process when it next reaches the step; the run is then invoked again, as Lambda does. */
  crash(crash: Crash): void;
}

/** Runs an agent in memory, with a clock that the test controls. */
export function testAgents<Input, State, Result>(
  original: Agent<Input, State, Result>,
  options: TestOptions = {},
): TestEnvironment<Input, State, Result> {
  const { agents = [], now, storage, functionTimeout = { minutes: 15 }, deliverTwice, ...rest } = options;
  const clock = new TestClock((now ?? new Date('2026-01-01T00:00:00Z')).getTime());
  const steps = new StepTracker();
  const queue: Delivery[] = [];
  const notifications: ApprovalNotification[] = [];
  const agentOptions: AgentOptions = {
    log: () => {},
    approvalUrl: 'https://approvals.test/',
    chance: () => 0.5,
    ...rest,
    clock,
    storage: storage ?? memoryStorage({ clock: () => clock.now() }),
    deliver: async (delivery) => void queue.push(delivery),
    probe: steps.probe,
  };
  const agent = original.with(agentOptions);
  const allAgents = [agent, ...agents.map((other) => other.with(agentOptions))];
  const agentsByName = new Map(allAgents.map((each) => [each.name, each]));
  const deliveries = new Deliveries(queue, {
    clock,
    steps,
    agents: agentsByName,
    functionTimeout,
    copies: deliverTwice ? 2 : 1,
    sweep: () => sweep(agent.runtime, agentsByName, agentOptions.approvalUrl, notifications),
  });
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
    crash: (crash) => steps.planCrash(crash),
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
