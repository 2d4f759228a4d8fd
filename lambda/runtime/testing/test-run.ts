import type { Checkpoint } from '../../checkpoints/engine.ts';
import { WaitstateError } from '../../core/errors.ts';
import type { Agent } from '../agent/agent.ts';
import type { RunHandle } from '../agent/run-handle.ts';
import type { AnswerInput } from '../approvals/decide-input.ts';
import type { ApprovalView } from '../approvals/view.ts';
import type { TestClock } from './test-clock.ts';

/** A decision on an approval; fields that a test leaves out have defaults. */
type TestAnswer = Partial<AnswerInput> & { readonly by?: string; readonly groups?: readonly string[] };

/** A run in a test. */
export interface TestRun<Result = unknown> extends RunHandle<Result> {
  /**
   * Approves a pending approval, given by its name or id; by its first approver that is not a group, or `user:test`.
   */
  approve(name: string, answer?: TestAnswer): Promise<void>;
  /** Rejects a pending approval, given by its name or id. */
  reject(name: string, answer?: TestAnswer): Promise<void>;
  /** Advances the clock to the deadline of a pending approval. */
  expire(name: string): Promise<void>;
  /** Every checkpoint, oldest first. */
  checkpoints(): Promise<readonly Checkpoint[]>;
}

/** A run handle whose actions resolve once every run has ended or waits. */
export function testRun<Input, State, Result>(
  agent: Agent<Input, State, Result>,
  id: string,
  clock: TestClock,
  settle: () => Promise<void>,
): TestRun<Result> {
  const run = agent.run(id);
  const settling =
    <A extends readonly unknown[], T>(action: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      const result = await action(...args);
      await settle();
      return result;
    };
  return {
    ...run,
    // The clock stands still, so waiting would change nothing.
    result: () => run.result({ timeout: { seconds: 0 } }),
    until: (status) => run.until(status, { timeout: { seconds: 0 } }),
    signal: settling(run.signal),
    cancel: settling(run.cancel),
    retry: settling(run.retry),
    rewind: settling(run.rewind),
    fork: settling(run.fork),
    decide: settling(run.decide),
    approve: settling((name: string, decision?: TestAnswer) => decideApproval(run, 'approve', name, decision)),
    reject: settling((name: string, decision?: TestAnswer) => decideApproval(run, 'reject', name, decision)),
    expire: settling(async (name: string) => clock.moveTo(await deadlineFor(run, name))),
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
  answer: 'approve' | 'reject',
  name: string,
  decision: TestAnswer = {},
): Promise<void> {
  const { id: approval, approvers } = await findPendingApproval(run, name);
  const { by = approvers.find((each) => !each.startsWith('group:')) ?? 'user:test', ...more } = decision;
  const groups = approvers.filter((each) => each.startsWith('group:'));
  await run.decide({ groups, ...more, approval, by, answer });
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
