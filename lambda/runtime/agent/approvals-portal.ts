import { type AgentOptions, createRuntime } from '../agent/agent-options.ts';
import { type AnswerInput, type DecideInput, decide, remind, withdraw } from '../approvals/decide.ts';
import { deliverDecided } from '../approvals/deliver-decided.ts';
import { type InboxOptions, inbox } from '../approvals/inbox.ts';
import { decideByToken, revokeToken, viewByToken } from '../approvals/tokens.ts';
import { type ApprovalView, viewApproval } from '../approvals/view.ts';

/** The approvals of one tenant, for programs that show and decide them: a portal, a chat bot, an email gateway. */
export interface Approvals {
  /** The pending approvals that a person can decide, directly or through groups, oldest first. */
  inbox(person: string, options?: InboxOptions): AsyncIterable<ApprovalView>;
  view(run: string, approval: string): Promise<ApprovalView>;
  /** Records a decision. The caller must have authenticated `by` and `groups`: they are not checked here. */
  decide(run: string, input: DecideInput): Promise<ApprovalView>;
  withdraw(run: string, approval: string, reason: string): Promise<ApprovalView>;
  /** Sends the approvers a reminder. */
  remind(run: string, approval: string): Promise<ApprovalView>;
  /** The approval that an approval link belongs to; `token` is the last part of the link. */
  viewByToken(token: string): Promise<ApprovalView>;
  /** Records a decision of the person whose approval link this is. */
  decideByToken(token: string, answer: AnswerInput): Promise<ApprovalView>;
  revokeToken(token: string): Promise<void>;
}

/** The approvals of a tenant, in the storage that the options name; takes the same options as `agent`. */
export function approvals(options: AgentOptions = {}): Approvals {
  const runtime = createRuntime({ name: 'approvals', run: () => {} }, options);
  const { contexts } = runtime;
  return {
    async *inbox(person, inboxOptions) {
      yield* inbox(await contexts.forTenant(), person, inboxOptions);
    },
    view: async (run, approval) => viewApproval(await contexts.forRun(run), approval),
    decide: async (run, input) => deliverDecided(runtime, await decide(await contexts.forRun(run), input)),
    withdraw: async (run, approval, reason) =>
      deliverDecided(runtime, await withdraw(await contexts.forRun(run), approval, reason)),
    remind: async (run, approval) => remind(await contexts.forRun(run), approval),
    viewByToken: async (token) => viewByToken(await contexts.forTenant(), token),
    decideByToken: async (token, answer) =>
      deliverDecided(runtime, await decideByToken(await contexts.forTenant(), token, answer)),
    revokeToken: async (token) => revokeToken(await contexts.forTenant(), token),
  };
}
