import type { VoteAnswer } from '../../core/approval.ts';
import { approvalKind } from '../../core/approval-kind.ts';
import { WaitstateError } from '../../core/errors.ts';
import { forEachConcurrently } from '../../core/for-each-concurrently.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import type { Runtime } from '../runtime.ts';
import type { ChangedApproval } from './change-approval.ts';
import { decide } from './decide.ts';
import { checkDecision, type DecideInput } from './decide-input.ts';
import { deliverDecided } from './deliver-decided.ts';
import { type FoundApproval, findApproval } from './find-approval.ts';

/** An approval, and the hash of what the approver saw of it. */
export interface ShownApproval {
  readonly run: string;
  /** The id of the approval. */
  readonly approval: string;
  /** The `contentHash` of what was shown; an approval that shows anything else is not decided. */
  readonly contentHash: string;
}

/** One answer to several approvals, and who gives it. The caller must have authenticated `by` and `groups`. */
export interface DecideAllInput extends Pick<DecideInput, 'by' | 'for' | 'groups' | 'membership' | 'comment'> {
  /** A question cannot be approved without its answer, so a vote for several can only decline it. */
  readonly answer: VoteAnswer;
  /** 1 to 50 approvals of one kind: the same agent and the same name. Each is named once. */
  readonly approvals: readonly ShownApproval[];
}

/** What came of one of several approvals that were decided together: its decision, or why it was not decided. */
export type DecideAllResult<View> = Pick<ShownApproval, 'run' | 'approval'> &
  (
    | {
        readonly view: View;
        /** Whether this call recorded the vote; false if the vote, or the same outcome, was recorded before. */
        readonly isNew: boolean;
      }
    | { readonly error: unknown }
  );

/** The most approvals that one call decides. */
export const MAX_DECIDED_TOGETHER = 50;
const MAX_CONCURRENT_RUNS = 8;
// A Lambda behind API Gateway has less than 30 seconds, and what was decided must still be reported.
const MAX_START_MS = 15_000;

/**
 * Decides several approvals with one answer. Each decision is recorded by itself, so one that fails does not affect the
 * others, and the same call can be repeated. Nothing is decided if the list is malformed or has several kinds.
 */
export async function decideAll(
  runtime: Runtime,
  input: DecideAllInput,
): Promise<readonly DecideAllResult<ChangedApproval>[]> {
  const { approvals, ...vote } = checkInput(input);
  const { now } = await runtime.contexts.forTenant();
  const latestStart = now() + MAX_START_MS;
  const checkTime = (): void => {
    if (now() >= latestStart) throw notStarted();
  };

  const found = await settleEach(approvals, async ({ run, approval }) => {
    checkTime();
    return findApproval(await runtime.contexts.forRun(run), approval);
  });
  checkOneKind(found);

  const begun = new Set<string>();
  const decided = await settleEach(approvals, async ({ run, approval, contentHash }, index) => {
    const read = resultOf(found[index]);
    checkTime();
    // A decision on another approval of this run has changed the run since it was read.
    const known = begun.has(run) ? undefined : read;
    begun.add(run);
    return deliverDecided(runtime, await decide(read.at, { ...vote, approval, contentHash }, known));
  });
  return approvals.map(({ run, approval }, index) => ({ run, approval, ...toOutcome(decided[index]) }));
}

/** The same results with each decided approval rendered. One that cannot be rendered does not affect the others. */
export async function renderDecided<View>(
  results: readonly DecideAllResult<ChangedApproval>[],
  render: (found: ChangedApproval) => Promise<View>,
): Promise<readonly DecideAllResult<View>[]> {
  return Promise.all(
    results.map(async (result) => {
      if (!('view' in result)) return result;
      try {
        return { ...result, view: await render(result.view) };
      } catch (error) {
        const { run, approval } = result;
        return { run, approval, error };
      }
    }),
  );
}

function checkInput(input: DecideAllInput): DecideAllInput {
  const { approvals, by, for: person, groups, membership, answer, comment } = Object(input) as DecideAllInput;
  if (!Array.isArray(approvals) || approvals.length < 1 || approvals.length > MAX_DECIDED_TOGETHER)
    throw invalidInput(
      '`approvals`',
      `a list of 1 to ${MAX_DECIDED_TOGETHER} approvals. Send more in several calls`,
      Array.isArray(approvals) ? `${approvals.length} items` : approvals,
    );
  const names = new Set<string>();
  for (const shown of approvals) {
    const { run, approval, contentHash } = Object(shown) as ShownApproval;
    if (![run, approval, contentHash].every((text) => typeof text === 'string' && text !== ''))
      throw invalidInput('Each item of `approvals`', '{ run, approval, contentHash }, all of them text', shown);
    const name = JSON.stringify([run, approval]);
    if (names.has(name)) throw invalidInput('`approvals`', 'a list that names each approval once', `${name} twice`);
    names.add(name);
  }
  const vote = { by, for: person, groups, membership, answer, comment };
  checkDecision({ ...vote, approval: '' });
  return { ...vote, approvals };
}

/** Refuses a list with approvals of several kinds: one answer and one comment cannot be meant for all of them. */
function checkOneKind(found: readonly PromiseSettledResult<FoundApproval>[]): void {
  const metas = found.flatMap((each) => (each.status === 'fulfilled' ? each.value.approval.meta : []));
  const kinds = new Set(metas.map(approvalKind)).size;
  if (kinds > 1)
    throw invalidInput(
      '`approvals`',
      'of one kind: the same agent and the same name. Send each kind in a call of its own',
      `${kinds} kinds`,
    );
}

/**
 * Does the work for each approval, for several runs at a time. Approvals of one run follow each other, because their
 * decisions change the same record.
 */
async function settleEach<T>(
  approvals: readonly ShownApproval[],
  work: (shown: ShownApproval, index: number) => Promise<T>,
): Promise<readonly PromiseSettledResult<T>[]> {
  const settled: PromiseSettledResult<T>[] = [];
  const runs = [...Map.groupBy(approvals.entries(), ([, { run }]) => run).values()];
  await forEachConcurrently(runs, MAX_CONCURRENT_RUNS, async (ofRun) => {
    for (const [index, shown] of ofRun) [settled[index]] = await Promise.allSettled([work(shown, index)]);
  });
  return settled;
}

function resultOf<T>(settled: PromiseSettledResult<T> | undefined): T {
  if (settled?.status === 'fulfilled') return settled.value;
  throw settled?.reason;
}

const toOutcome = (settled: PromiseSettledResult<ChangedApproval> | undefined) =>
  settled?.status === 'fulfilled'
    ? { view: settled.value, isNew: settled.value.isChanged }
    : { error: settled?.reason };

const notStarted = (): WaitstateError =>
  new WaitstateError('TIMED_OUT', 'The other decisions took too long, so this one was not started. Send it again.');
