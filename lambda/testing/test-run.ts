import type { Checkpoint } from '../checkpoints/engine.ts';
import { isGroup, type Person } from '../core/approval.ts';
import { isWaitstateError, WaitstateError } from '../core/errors.ts';
import { isExcluded } from '../core/requester.ts';
import type { Agent } from '../runtime/agent/agent.ts';
import type { RunHandle } from '../runtime/agent/run-handle.ts';
import type { AnswerInput, DecideInput } from '../runtime/approvals/decide-input.ts';
import type { ApprovalView } from '../runtime/approvals/view.ts';
import type { SignalSchemas } from '../runtime/definition/signal-schemas.ts';
import { expectRun, type RunExpectation } from './run-expectation.ts';
import type { TestClock } from './test-clock.ts';
import { timelineText } from './timeline-text.ts';

/** A decision on an approval; fields that a test leaves out have defaults. `user:test` belongs to every group. */
type TestAnswer = Partial<Omit<AnswerInput, 'answer' | 'value'> & Pick<DecideInput, 'by' | 'for' | 'groups'>>;

/** A run in a test. When it is not as a test expects, the error has its timeline. */
export interface TestRun<Result = unknown, Signals extends SignalSchemas = SignalSchemas>
  extends RunHandle<Result, Signals> {
  /**
   * Approves a pending approval, given by its name or id; by its first approver who can decide and is not a group, or `user:test`.
   */
  approve(name: string, answer?: TestAnswer): Promise<void>;
  /** Answers a pending question, given by its name or id; by its first approver, as `approve`. */
  answer(name: string, value: unknown, answer?: TestAnswer): Promise<void>;
  /** Rejects a pending approval, or declines a question, given by its name or id. */
  reject(name: string, answer?: TestAnswer): Promise<void>;
  /** Advances the clock to the deadline of a pending approval. */
  expire(name: string): Promise<void>;
  /** Throws an AssertionError with the timeline of the run unless the run is as expected. */
  expect(expected: RunExpectation<Result>): Promise<void>;
  /** What happened, as text: the status, a line for each checkpoint, and what the run waits for. */
  timeline(): Promise<string>;
  /** Every checkpoint, oldest first. */
  checkpoints(): Promise<readonly Checkpoint[]>;
}

/** A run handle whose actions resolve once every run has ended or waits. */
export function testRun<Input, State, Result, Signals extends SignalSchemas>(
  agent: Agent<Input, State, Result, Signals>,
  id: string,
  clock: TestClock,
  settle: () => Promise<void>,
): TestRun<Result, Signals> {
  const run = agent.run(id);
  const timeline = () => timelineText(agent.runtime, id);
  const settling =
    <A extends readonly unknown[], T>(action: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      const result = await action(...args);
      await settle();
      return result;
    };
  /** Adds the timeline to the message of an error. */
  const explained = async <T>(action: Promise<T>): Promise<T> => {
    try {
      return await action;
    } catch (error) {
      if (!isWaitstateError(error)) throw error;
      const { code, scope, cause, message } = error;
      throw Object.assign(new WaitstateError(code, `${message}\n\n${await timeline()}`, { scope, cause }), {
        ...error,
      });
    }
  };
  return {
    ...run,
    timeline,
    expect: (expected) => expectRun(run, expected, timeline),
    // The clock stands still, so waiting would change nothing.
    result: () => explained(run.result({ timeout: { seconds: 0 } })),
    until: (status) => explained(run.until(status, { timeout: { seconds: 0 } })),
    signal: settling(run.signal),
    cancel: settling(run.cancel),
    retry: settling(run.retry),
    rewind: settling(run.rewind),
    fork: settling(run.fork),
    decide: settling(run.decide),
    approve: settling((name: string, decision?: TestAnswer) =>
      explained(decideApproval(run, { answer: 'approve' }, name, decision)),
    ),
    answer: settling((name: string, value: unknown, decision?: TestAnswer) =>
      explained(decideApproval(run, { value }, name, decision)),
    ),
    reject: settling((name: string, decision?: TestAnswer) =>
      explained(decideApproval(run, { answer: 'reject' }, name, decision)),
    ),
    expire: settling(async (name: string) => clock.moveTo(await explained(deadlineFor(run, name)))),
    async checkpoints() {
      const all: Checkpoint[] = [];
      for await (const { version, pruned } of agent.store.history(id))
        if (!pruned) all.push(await agent.store.load(id, version));
      return all;
    },
  };
}

async function decideApproval(
  run: RunHandle,
  answer: AnswerInput,
  name: string,
  decision: TestAnswer = {},
): Promise<void> {
  const pending = await findPendingApproval(run, name);
  const { id: approval, approvers, contentHash, members = {} } = pending;
  const possible = approvers.flatMap((each): readonly Person[] => (isGroup(each) ? (members[each] ?? []) : [each]));
  const { by = possible.find((each) => !isExcluded(pending, each)) ?? 'user:test', ...more } = decision;
  // `user:test` stands for a member of groups whose members nobody knows. Of others, the test says their groups.
  const groups = by === 'user:test' ? approvers.filter((each) => isGroup(each) && !members[each]) : [];
  await run.decide({ groups, contentHash, ...more, ...answer, approval, by });
}

async function deadlineFor(run: RunHandle, name: string): Promise<number> {
  const { deadline } = await findPendingApproval(run, name);
  if (!deadline) throw new WaitstateError('INVALID_INPUT', `Approval "${name}" has no timeout, so it cannot expire.`);
  return deadline.getTime();
}

async function findPendingApproval(run: RunHandle, name: string): Promise<ApprovalView> {
  const pending = await run.approvals();
  const found = pending.find((each) => each.name === name || each.id === name);
  if (found) return found;
  const names = pending.map((each) => each.name).join(', ') || 'none';
  throw new WaitstateError(
    'APPROVAL_NOT_FOUND',
    `Run "${run.id}" is ${await run.status()} and has no pending approval "${name}"; pending: ${names}.`,
  );
}
