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

/** What a test may choose of where its agents run. */
export interface TestOptions extends Omit<AgentOptions, 'clock' | 'deliver' | 'probe' | 'storage'> {
  /** Other agents, which this one calls. */
  readonly agents?: readonly AnyAgent[];
  /** @default 2026-01-01 */
  readonly now?: Date;
  /** @default in memory */
  readonly storage?: Storage;
  /** How long a function may run, as Lambda's timeout. @default 15 minutes */
  readonly functionTimeout?: Duration;
  /** Whether each delivery comes twice, at the same time. @default false */
  readonly deliverTwice?: boolean;
}

/** An agent, its runs, its storage and its time, in one process. */
export interface TestEnvironment<Input = unknown, State = unknown, Result = unknown> {
  readonly agent: Agent<Input, State, Result>;
  readonly clock: TestClock;
  /** What people were told. */
  readonly notifications: readonly ApprovalNotification[];
  /** What each invocation came to, in their order. */
  readonly invocations: readonly InvokeResult[];
  /** Starts a run, and lets it go as far as it can. */
  start(input: Input, options?: StartOptions): Promise<TestRun<Result>>;
  run(id: string): TestRun<Result>;
  /** Lets everything go as far as it can without waiting. */
  settle(): Promise<void>;
  /** Moves the time, and lets what was due in it happen. */
  skip(duration: Duration): Promise<void>;
  /** Lets the process die when it next gets there; it is invoked again, as Lambda does. */
  crash(crash: Crash): void;
}

/** Runs an agent in memory, with time that the test moves. */
export function testAgents<Input, State, Result>(
  given: Agent<Input, State, Result>,
  options: TestOptions = {},
): TestEnvironment<Input, State, Result> {
  const { agents = [], now, storage, functionTimeout = { minutes: 15 }, deliverTwice, ...rest } = options;
  const clock = new TestClock((now ?? new Date('2026-01-01T00:00:00Z')).getTime());
  const steps = new StepTracker();
  const queue: Delivery[] = [];
  const notices: ApprovalNotification[] = [];
  const place: AgentOptions = {
    log: () => {},
    approvalUrl: 'https://approvals.test/',
    chance: () => 0.5,
    ...rest,
    clock,
    storage: storage ?? memoryStorage({ clock: () => clock.now() }),
    deliver: async (delivery) => void queue.push(delivery),
    probe: steps.probe,
  };
  const agent = given.with(place);
  const known = new Map([agent, ...agents.map((other) => other.with(place))].map((each) => [each.name, each]));
  const deliveries = new Deliveries(queue, {
    ...{ clock, steps, agents: known, functionTimeout, times: deliverTwice ? 2 : 1 },
    sweep: () => sweep(agent.runtime, known, place.approvalUrl, notices),
  });
  const settle = () => deliveries.settle();
  const run = (id: string) => testRun(agent, id, clock, settle);
  return {
    ...{ agent, clock, notifications: notices, invocations: deliveries.invocations, run, settle },
    async start(input, startOptions) {
      const { id } = await agent.start(input, startOptions);
      await settle();
      return run(id);
    },
    skip: (duration) => skip(agent.runtime, clock, duration, settle),
    crash: (crash) => steps.planCrash(crash),
  };
}

/** Sweeps once, and keeps what people are told; says whether there was anything to do. */
async function sweep(
  runtime: Runtime,
  agents: ReadonlyMap<string, AnyAgent>,
  url: string | undefined,
  notices: ApprovalNotification[],
): Promise<boolean> {
  const { approvals, delivered } = await sweepDue({
    runtime,
    notifierFor: (name) => {
      const telling = agents.get(name ?? '')?.notifier ?? { url, notify: async () => {} };
      return {
        ...telling,
        notify: async (notice) => {
          notices.push(notice);
          await telling.notify(notice);
        },
      };
    },
  });
  return approvals > 0 || delivered > 0;
}

/** Moves the time; everything that is due on the way happens at its time. */
async function skip(
  runtime: Runtime,
  clock: TestClock,
  duration: Duration,
  settle: () => Promise<void>,
): Promise<void> {
  const end = clock.now() + toMilliseconds('What to skip', duration);
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
