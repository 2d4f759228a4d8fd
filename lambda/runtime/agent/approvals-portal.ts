import { type AgentOptions, createRuntime } from '../agent/agent-options.ts';
import { type AnswerInput, type DecideInput, decide, remind, withdraw } from '../approvals/decide.ts';
import { deliverDecided } from '../approvals/deliver-decided.ts';
import { type InboxOptions, inbox } from '../approvals/inbox.ts';
import { decideByToken, revokeToken, viewByToken } from '../approvals/tokens.ts';
import { type ApprovalView, viewApproval } from '../approvals/view.ts';

/** The approvals of one tenant, for those who show and answer them: a portal, a chat bot, a mail gateway. */
export interface Approvals {
  /** What a person can still answer, by name or through groups, oldest first. */
  inbox(person: string, options?: InboxOptions): AsyncIterable<ApprovalView>;
  view(run: string, approval: string): Promise<ApprovalView>;
  /** Counts an answer; that `by` and `groups` are true is for the caller to know. */
  decide(run: string, input: DecideInput): Promise<ApprovalView>;
  withdraw(run: string, approval: string, why: string): Promise<ApprovalView>;
  /** Has people told once more. */
  remind(run: string, approval: string): Promise<ApprovalView>;
  /** What the link of one person asks; `token` is the last part of the link. */
  viewByToken(token: string): Promise<ApprovalView>;
  /** Answers as that person. */
  decideByToken(token: string, answer: AnswerInput): Promise<ApprovalView>;
  revokeToken(token: string): Promise<void>;
}

/** The approvals in a place; it takes what `agent` takes. */
export function approvals(place: AgentOptions = {}): Approvals {
  const runtime = createRuntime({ name: 'approvals', run: () => {} }, place);
  const { contexts } = runtime;
  return {
    async *inbox(person, options) {
      yield* inbox(await contexts.forTenant(), person, options);
    },
    view: async (run, approval) => viewApproval(await contexts.forRun(run), approval),
    decide: async (run, input) => deliverDecided(runtime, await decide(await contexts.forRun(run), input)),
    withdraw: async (run, approval, why) =>
      deliverDecided(runtime, await withdraw(await contexts.forRun(run), approval, why)),
    remind: async (run, approval) => remind(await contexts.forRun(run), approval),
    viewByToken: async (token) => viewByToken(await contexts.forTenant(), token),
    decideByToken: async (token, answer) =>
      deliverDecided(runtime, await decideByToken(await contexts.forTenant(), token, answer)),
    revokeToken: async (token) => revokeToken(await contexts.forTenant(), token),
  };
}
