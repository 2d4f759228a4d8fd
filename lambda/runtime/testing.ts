import { setTimeout as realTime, setImmediate as tick } from 'node:timers/promises';
import type { Checkpoint } from '../checkpoints/checkpoint.ts';
import { DUE_SHARDS, timeOrder } from '../checkpoints/records.ts';
import { type Duration, millisecondsOf } from '../core/duration.ts';
import { HoldpointError } from '../core/errors.ts';
import { memoryStorage } from '../storage/memory.ts';
import type { Storage } from '../storage/ports.ts';
import type { Agent, AnyAgent, Invoked, StartOptions } from './agent.ts';
import type { AgentPlace } from './agent-place.ts';
import type { AnswerInput } from './approvals/decide.ts';
import type { Notice } from './approvals/notice.ts';
import type { ApprovalView } from './approvals/view.ts';
import type { RunHandle } from './run-handle.ts';
import type { Delivery, StepMoment } from './runtime.ts';
import { sweepDue } from './sweep.ts';
import { TestClock } from './test-clock.ts';

export { TestClock };

/** A process that dies: before the function of a step, after it, or when its result is recorded. */
export type Crash = { readonly [M in StepMoment]?: string } & {
  /** How often. @default 1 */
  readonly times?: number;
};

export interface TestOptions extends Omit<AgentPlace, 'clock' | 'deliver' | 'probe' | 'storage'> {
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

/** A run in a test. */
export interface TestRun<Result = unknown> extends RunHandle<Result> {
  /** Answers an open approval by its name, or by its id. @default by `user:test`, if it is asked, or the first person */
  approve(
    name: string,
    answer?: Partial<AnswerInput> & { readonly by?: string; readonly groups?: readonly string[] },
  ): Promise<void>;
  reject(
    name: string,
    answer?: Partial<AnswerInput> & { readonly by?: string; readonly groups?: readonly string[] },
  ): Promise<void>;
  /** Moves the time to the deadline of an open approval. */
  expire(name: string): Promise<void>;
  /** Every checkpoint, oldest first. */
  checkpoints(): Promise<readonly Checkpoint[]>;
}

/** An agent, its runs, its storage and its time, in one process. */
export interface TestWorld<Input = unknown, State = unknown, Result = unknown> {
  readonly agent: Agent<Input, State, Result>;
  readonly clock: TestClock;
  /** What people were told. */
  readonly notices: readonly Notice[];
  /** What each invocation came to, in their order. */
  readonly invocations: readonly Invoked[];
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

// What sleeps for longer only waits for its function to be over.
const SHORT_MS = 60_000;
const PATIENCE_MS = 1_000;

/** Runs an agent in memory, with time that the test moves. */
export function testAgents<Input, State, Result>(
  given: Agent<Input, State, Result>,
  options: TestOptions = {},
): TestWorld<Input, State, Result> {
  const {
    agents = [],
    now = new Date('2026-01-01T00:00:00Z'),
    storage,
    functionTimeout = { minutes: 15 },
    deliverTwice,
    ...rest
  } = options;
  const clock = new TestClock(now.getTime());
  const queue: Delivery[] = [];
  const invocations: Invoked[] = [];
  const notices: Notice[] = [];
  const crashes: { crash: Crash; left: number }[] = [];
  let inSteps = 0;
  let under = 0;
  let count = 0;

  const place: AgentPlace = {
    log: () => {},
    approvalUrl: 'https://approvals.test/',
    chance: () => 0.5,
    ...rest,
    clock,
    storage: storage ?? memoryStorage({ clock: () => clock.now() }),
    deliver: async (delivery) => void queue.push(delivery),
    probe(moment, _run, step) {
      if (moment === 'before') inSteps += 1;
      if (moment === 'after') inSteps -= 1;
      const planned = crashes.find(({ crash, left }) => left > 0 && crash[moment] === step);
      if (!planned) return undefined;
      planned.left -= 1;
      if (moment === 'before') inSteps -= 1;
      return 'crash';
    },
  };
  const agent = given.with(place);
  const known = new Map([agent, ...agents.map((other) => other.with(place))].map((each) => [each.name, each]));

  async function invoke(delivery: Delivery, by: string): Promise<void> {
    const of = known.get(delivery.agent ?? '');
    if (!of)
      throw new HoldpointError(
        'AGENT_NOT_FOUND',
        `Run "${delivery.run}" is of agent "${delivery.agent}", which this test does not know. Pass it in \`agents\`.`,
      );
    const until = clock.now() + millisecondsOf('`functionTimeout`', functionTimeout);
    const outcome = await of.invoke(delivery, { by, until });
    invocations.push(outcome);
    // Lambda invokes an asynchronous event again that ended in an error, under the same id.
    if (outcome.end === 'failed') await invoke(delivery, by);
  }

  /** Waits until nothing happens any more but by time, and moves the time over what is short. */
  async function goOn(): Promise<void> {
    for (let quiet = 0, began = performance.now(); under > 0 && quiet < 8; quiet++) {
      await tick();
      if (inSteps > 0) {
        await realTime(1);
        quiet = 0;
      }
      if (performance.now() - began > 30_000) break;
    }
    if (under === 0 || clock.next === undefined) return;
    // Nothing but the end of a function is far away: give what is not in a step some real time first.
    for (let waited = 0; clock.next - clock.now() > SHORT_MS && waited < PATIENCE_MS && under > 0; waited += 5)
      await realTime(5);
    if (under > 0 && inSteps === 0 && clock.next !== undefined) clock.moveTo(clock.next);
  }

  async function settle(): Promise<void> {
    let failure: unknown;
    for (;;) {
      for (const delivery of queue.splice(0)) {
        for (let i = 0; i < (deliverTwice ? 2 : 1); i++) {
          under += 1;
          count += 1;
          invoke(delivery, `invocation-${count}`).then(
            () => {
              under -= 1;
            },
            (error) => {
              under -= 1;
              failure ??= error;
            },
          );
        }
      }
      await goOn();
      if (failure) throw failure;
      if (under > 0 || queue.length > 0) continue;
      const { approvals, delivered } = await sweep();
      if (queue.length === 0 && approvals === 0 && delivered === 0) return;
    }
  }

  const sweep = () =>
    sweepDue({
      runtime: agent.runtime,
      telling: (name) => {
        const telling = known.get(name ?? '')?.telling ?? { url: place.approvalUrl, tell: async () => {} };
        return {
          ...telling,
          tell: async (notice) => {
            notices.push(notice);
            await telling.tell(notice);
          },
        };
      },
    });

  async function openApproval(run: RunHandle, name: string): Promise<ApprovalView> {
    const open = await run.approvals();
    const found = open.find((each) => each.name === name || each.id === name);
    if (found) return found;
    const names = open.map((each) => each.name).join(', ') || 'none';
    throw new HoldpointError(
      'APPROVAL_NOT_FOUND',
      `Run "${run.id}" is ${await run.status()} and has no open approval "${name}"; open: ${names}.`,
    );
  }

  function testRun(id: string): TestRun<Result> {
    const run = agent.run(id);
    const answering =
      (answer: 'approve' | 'reject'): TestRun['approve'] =>
      async (name, said = {}) => {
        const { id: approval, approvers } = await openApproval(run, name);
        const { by = approvers.find((each) => !each.startsWith('group:')) ?? 'user:test', ...more } = said;
        await run.decide({
          groups: approvers.filter((each) => each.startsWith('group:')),
          ...more,
          approval,
          by,
          answer,
        });
        await settle();
      };
    const settling =
      <A extends readonly unknown[], T>(act: (...args: A) => Promise<T>) =>
      async (...args: A): Promise<T> => {
        const made = await act(...args);
        await settle();
        return made;
      };
    return {
      ...run,
      // Time stands still: what is not over now will not be.
      result: (waiting) => run.result({ timeout: { seconds: 0 }, ...waiting }),
      signal: settling(run.signal),
      cancel: settling(run.cancel),
      retry: settling(run.retry),
      rewind: settling(run.rewind),
      fork: settling(run.fork),
      decide: settling(run.decide),
      approve: answering('approve'),
      reject: answering('reject'),
      async expire(name) {
        const { deadline } = await openApproval(run, name);
        if (!deadline)
          throw new HoldpointError('INVALID_INPUT', `Approval "${name}" has no timeout; it never expires.`);
        clock.moveTo(deadline.getTime());
        await settle();
      },
      async checkpoints() {
        const all: Checkpoint[] = [];
        for await (const { version, pruned } of agent.store.history(id))
          if (!pruned) all.push(await agent.store.load(id, version));
        return all;
      },
    };
  }

  return {
    agent,
    clock,
    notices,
    invocations,
    async start(input, startOptions) {
      const { id } = await agent.start(input, startOptions);
      await settle();
      return testRun(id);
    },
    run: testRun,
    settle,
    async skip(duration) {
      const end = clock.now() + millisecondsOf('What to skip', duration);
      await settle();
      // Everything that is due on the way happens at its time.
      for (
        let next = await nextDue(agent, clock.now());
        next !== undefined && next <= end;
        next = await nextDue(agent, clock.now())
      ) {
        clock.moveTo(next);
        await settle();
      }
      clock.moveTo(end);
      await settle();
    },
    crash: (crash) => void crashes.push({ crash, left: crash.times ?? 1 }),
  };
}

/** When something is next due after a moment. */
async function nextDue(agent: AnyAgent, after: number): Promise<number | undefined> {
  const { records } = await agent.runtime.contexts.context();
  let next: number | undefined;
  for (let shard = 0; shard < DUE_SHARDS; shard++) {
    const page = await records.list('due', `due/${shard}`, { from: timeOrder(after + 1), limit: 1 });
    const [first] = page.records;
    if (!first) continue;
    const [stored] = await records.read(first.partition, [first.key]);
    const order = Number(stored?.places?.due?.order);
    if (order > after && (next === undefined || order < next)) next = order;
  }
  return next;
}
