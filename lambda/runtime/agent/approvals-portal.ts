import type { Approver, Person } from '../../core/approval.ts';
import type { DelegateInput } from '../../core/delegation.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { type AgentOptions, createRuntime } from '../agent/agent-options.ts';
import type { DecideAllInput, DecideAllResult } from '../approvals/decide-all.ts';
import type { AnswerInput, DecideInput } from '../approvals/decide-input.ts';
import type { DelegationView } from '../approvals/delegations.ts';
import type { FoundApproval } from '../approvals/find-approval.ts';
import type { ApprovalView } from '../approvals/view.ts';

/** Which part of an inbox to list. */
export interface InboxOptions {
  /** The most approvals to list. @default all */
  readonly limit?: number;
  /** The groups that the person belongs to, such as `group:finance`. @default none */
  readonly groups?: readonly string[];
}

/** The approvals of one tenant, for programs that show and decide them: a portal, a chat bot, an email gateway. */
export interface Approvals {
  /** The pending approvals that a person can decide, directly or through groups, oldest first. */
  inbox(person: Approver, options?: InboxOptions): AsyncIterable<ApprovalView>;
  view(run: string, approval: string): Promise<ApprovalView>;
  /** Records a decision. The caller must have authenticated `by` and `groups`: they are not checked here. */
  decide(run: string, input: DecideInput): Promise<ApprovalView>;
  /**
   * Records one answer to up to 50 approvals of one kind, each decided by itself; returns a result for each, in the
   * same order. Can be repeated. As with `decide`, the caller must have authenticated `by` and `groups`.
   */
  decideAll(input: DecideAllInput): Promise<readonly DecideAllResult<ApprovalView>[]>;
  withdraw(run: string, approval: string, reason: string): Promise<ApprovalView>;
  /** Sends the approvers a reminder. */
  remind(run: string, approval: string): Promise<ApprovalView>;
  /** The approval that an approval link belongs to; `token` is the last part of the link. */
  viewByToken(token: string): Promise<ApprovalView>;
  /** Records a decision of the person whose approval link this is. */
  decideByToken(token: string, answer: AnswerInput): Promise<ApprovalView>;
  revokeToken(token: string): Promise<void>;
  /**
   * Lets someone answer the approvals of a person who is away; replaces the person's earlier delegation. The caller must
   * have authenticated `createdBy`, and decides who may make a delegation for someone else.
   */
  delegate(input: DelegateInput): Promise<DelegationView>;
  /** Ends the delegation of a person early; returns it, or undefined if there is none. */
  endDelegation(person: Person): Promise<DelegationView | undefined>;
  /** The delegations that have not ended: all of them, or those from and to one person. The first to end comes first. */
  delegations(options?: { readonly person?: Person }): Promise<readonly DelegationView[]>;
}

/** The approvals of a tenant, in the storage that the options name; takes the same options as `agent`. */
export function approvals(options: AgentOptions = {}): Approvals {
  const runtime = createRuntime({ name: 'approvals', run: () => {} }, options);
  const { contexts } = runtime;
  /** Applies a decision, and delivers the run if it is ready. */
  const applyDecision = async (apply: (actions: ApprovalActions) => Promise<FoundApproval>): Promise<ApprovalView> => {
    const actions = await loadActions();
    return actions.toApprovalView(await actions.deliverDecided(runtime, await apply(actions)));
  };
  return {
    async *inbox(person, { limit = Infinity, groups } = {}) {
      if (!(limit > 0)) throw invalidInput('`limit`', 'a number above 0', limit);
      const { inbox, skipUnreadable, toApprovalView } = await loadActions();
      let listed = 0;
      for await (const found of inbox(await contexts.forTenant(), person, { groups })) {
        const view = await skipUnreadable(toApprovalView(found), found);
        if (view === undefined) continue;
        yield view;
        if (++listed >= limit) return;
      }
    },
    view: async (run, approval) => (await loadActions()).viewApproval(await contexts.forRun(run), approval),
    decide: (run, input) => applyDecision(async ({ decide }) => decide(await contexts.forRun(run), input)),
    async decideAll(input) {
      const { decideAll, renderDecided, toApprovalView } = await loadActions();
      return renderDecided(await decideAll(runtime, input), toApprovalView);
    },
    withdraw: (run, approval, reason) =>
      applyDecision(async ({ withdraw }) => withdraw(await contexts.forRun(run), approval, reason)),
    async remind(run, approval) {
      const { remind, toApprovalView } = await loadActions();
      return toApprovalView(await remind(await contexts.forRun(run), approval));
    },
    async viewByToken(token) {
      const { findByToken, toApprovalView } = await loadActions();
      return toApprovalView(await findByToken(await contexts.forTenant(), token));
    },
    decideByToken: (token, answer) =>
      applyDecision(async ({ decideByToken }) => decideByToken(await contexts.forTenant(), token, answer)),
    revokeToken: async (token) => (await loadActions()).revokeToken(await contexts.forTenant(), token),
    async delegate(input) {
      const actions = await loadActions();
      return actions.toDelegationView(await actions.delegate(await contexts.forTenant(), input));
    },
    async endDelegation(person) {
      const actions = await loadActions();
      const ended = await actions.endDelegation(await contexts.forTenant(), person);
      return ended && actions.toDelegationView(ended);
    },
    async delegations(options) {
      const actions = await loadActions();
      return (await actions.listDelegations(await contexts.forTenant(), options)).map(actions.toDelegationView);
    },
  };
}

const loadActions = () => import('../approvals/approval-actions.ts');
type ApprovalActions = Awaited<ReturnType<typeof loadActions>>;
