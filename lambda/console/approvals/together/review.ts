import { approvalKind } from '../../../core/approval-kind.ts';
import { forEachConcurrently } from '../../../core/for-each-concurrently.ts';
import { invalidInput } from '../../../core/invalid-input.ts';
import type { Caller } from '../../../http/caller.ts';
import { toProblem } from '../../../http/problem.ts';
import { requireApprovalAccess } from '../../../http/roles.ts';
import type { ApprovalDocument } from '../../../operator/approval-document.ts';
import type { Operator } from '../../../operator/operator.ts';
import { MAX_DECIDED_TOGETHER } from '../../../runtime/approvals/decide-all.ts';
import { type HtmlValue, html } from '../../markup.ts';
import { statusBadge } from '../../status-badge.ts';
import { userText } from '../../text.ts';
import type { Deciders } from '../decide-form.ts';
import { findDeciders, needsDelegations, whyNotOffered } from '../deciders.ts';
import { ownVote } from '../people.ts';
import { isQuestion } from '../words.ts';
import type { Picked } from './selection.ts';

/** A request that can be decided on the page, and who can decide it. */
export interface Offered {
  readonly approval: ApprovalDocument;
  readonly deciders: Deciders;
}

/** A request that is not on the page, and why. */
export interface LeftOut extends Picked {
  /** Absent if the caller cannot read the request. */
  readonly title?: string | undefined;
  readonly why: HtmlValue;
}

/** The selected requests, in the order of the selection. */
export interface Review {
  readonly offered: readonly Offered[];
  readonly leftOut: readonly LeftOut[];
}

const MAX_CONCURRENT_READS = 8;
/** As many as the inbox lists. */
const MAX_SELECTED = 100;

/** Who reads the requests. */
interface Reader {
  readonly caller: Caller;
  readonly operator: Operator;
}

/** Reads the selected requests, and finds out which of them the caller can decide now. */
export async function loadReview(
  reader: Reader & { readonly person?: string | undefined },
  picked: readonly Picked[],
): Promise<Review> {
  if (picked.length > MAX_SELECTED)
    throw invalidInput('The selection', `at most ${MAX_SELECTED} requests`, `${picked.length} requests`);
  const offered = new Map<Picked, Offered>();
  const reasons = new Map<Picked, Omit<LeftOut, keyof Picked>>();
  await forEachConcurrently(picked.slice(0, MAX_DECIDED_TOGETHER), MAX_CONCURRENT_READS, async (each) => {
    try {
      const approval = await readRequest(reader, each);
      const isOpen = approval.status === 'PENDING' && !isQuestion(approval);
      const delegations =
        isOpen && needsDelegations(reader.caller, approval) ? await reader.operator.delegationsOf(approval) : [];
      const deciders = isOpen && findDeciders(reader.caller, approval, reader.person, delegations);
      if (deciders) offered.set(each, { approval, deciders });
      else reasons.set(each, { title: approval.title, why: whyLeftOut(reader.caller, approval, reader.person) });
    } catch (error) {
      reasons.set(each, { why: userText(toProblem(error).detail) });
    }
  });
  const kinds = new Set([...offered.values()].map(({ approval }) => approvalKind(approval)));
  if (kinds.size > 1) throw invalidInput('The selection', 'requests of one agent with one name', `${kinds.size} kinds`);
  return {
    offered: picked.flatMap((each) => offered.get(each) ?? []),
    leftOut: picked.flatMap((each) => (offered.has(each) ? [] : { ...each, ...(reasons.get(each) ?? TOO_MANY) })),
  };
}

const TOO_MANY = { why: `A page has at most ${MAX_DECIDED_TOGETHER} requests. Decide these first.` };

async function readRequest({ caller, operator }: Reader, { run, approval }: Picked): Promise<ApprovalDocument> {
  const found = await operator.approval(run, approval);
  await requireApprovalAccess(caller, found, operator);
  return found;
}

function whyLeftOut(caller: Caller, approval: ApprovalDocument, person: string | undefined): HtmlValue {
  if (approval.status !== 'PENDING') return html`It is no longer pending: ${statusBadge(approval.status)}`;
  if (isQuestion(approval)) return 'Answer a question on its own page.';
  return ownVote(approval, person) ? 'You have decided it already.' : whyNotOffered(caller, approval, person);
}

/** The titles of the requests that were not decided, as far as the caller can read them. */
export async function loadTitles<Result extends Picked>(
  reader: Reader,
  results: readonly Result[],
): Promise<ReadonlyMap<Result, string>> {
  const titles = new Map<Result, string>();
  const undecided = results.filter((result) => 'error' in result);
  await forEachConcurrently(undecided, MAX_CONCURRENT_READS, async (result) => {
    const found = await readRequest(reader, result).catch(() => undefined);
    if (found) titles.set(result, found.title);
  });
  return titles;
}
