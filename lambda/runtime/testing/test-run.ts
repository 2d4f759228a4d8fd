import type { Checkpoint } from '../../checkpoints/engine.ts';
import { WaitstateError } from '../../core/errors.ts';
import type { Agent } from '../agent/agent.ts';
import type { RunHandle } from '../agent/run-handle.ts';
import type { AnswerInput } from '../approvals/decide-input.ts';
import type { ApprovalView } from '../approvals/view.ts';
import type { TestClock } from './test-clock.ts';

/** What somebody says to an approval, as far as the test wants to say it. */
type TestAnswer = Partial<AnswerInput> & { readonly by?: string; readonly groups?: readonly string[] };

/** A run in a test. */
export interface TestRun<Result = unknown> extends RunHandle<Result> {
  /** Answers an open approval by its name, or by its id. @default by `user:test`, if it is asked, or the first person */
  approve(name: string, answer?: TestAnswer): Promise<void>;
  reject(name: string, answer?: TestAnswer): Promise<void>;
  /** Moves the time to the deadline of an open approval. */
  expire(name: string): Promise<void>;
  /** Every checkpoint, oldest first. */
  checkpoints(): Promise<readonly Checkpoint[]>;
}

/** A run of which everything that is done to it has happened when it resolves. */
export function testRun<Input, State, Result>(
  agent: Agent<Input, State, Result>,
  id: string,
  clock: TestClock,
  settle: () => Promise<void>,
): TestRun<Result> {
  const run = agent.run(id);
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
    result: () => run.result({ timeout: { seconds: 0 } }),
    until: (status) => run.until(status, { timeout: { seconds: 0 } }),
    signal: settling(run.signal),
    cancel: settling(run.cancel),
    retry: settling(run.retry),
    rewind: settling(run.rewind),
    fork: settling(run.fork),
    decide: settling(run.decide),
    approve: settling((name: string, said?: TestAnswer) => answer(run, 'approve', name, said)),
    reject: settling((name: string, said?: TestAnswer) => answer(run, 'reject', name, said)),
    expire: settling(async (name: string) => clock.moveTo(await deadlineOf(run, name))),
    async checkpoints() {
      const all: Checkpoint[] = [];
      for await (const { version, pruned } of agent.store.history(id))
        if (!pruned) all.push(await agent.store.load(id, version));
      return all;
    },
  };
}

async function answer(
  run: RunHandle,
  answer: 'approve' | 'reject',
  name: string,
  said: TestAnswer = {},
): Promise<void> {
  const { id: approval, approvers } = await openApproval(run, name);
  const { by = approvers.find((each) => !each.startsWith('group:')) ?? 'user:test', ...more } = said;
  const groups = approvers.filter((each) => each.startsWith('group:'));
  await run.decide({ groups, ...more, approval, by, answer });
}

async function deadlineOf(run: RunHandle, name: string): Promise<number> {
  const { deadline } = await openApproval(run, name);
  if (!deadline) throw new WaitstateError('INVALID_INPUT', `Approval "${name}" has no timeout; it never expires.`);
  return deadline.getTime();
}

async function openApproval(run: RunHandle, name: string): Promise<ApprovalView> {
  const open = await run.approvals();
  const found = open.find((each) => each.name === name || each.id === name);
  if (found) return found;
  const names = open.map((each) => each.name).join(', ') || 'none';
  throw new WaitstateError(
    'APPROVAL_NOT_FOUND',
    `Run "${run.id}" is ${await run.status()} and has no open approval "${name}"; open: ${names}.`,
  );
}
