import { invalidInput } from '../../core/invalid-input.ts';
import type { AgentContext, BranchOptions, BranchOutcome } from '../definition/agent-context.ts';
import type { Invocation } from '../invocation/invocation.ts';
import { type BranchCount, hasCounted } from '../journal/branch-count.ts';
import { nonDeterminismError } from '../journal/entries.ts';
import { Scope } from '../journal/identity.ts';
import { abandonWaits } from './wait-operations.ts';

type Options = BranchOptions & { readonly enough?: number | undefined };
type Run = (ctx: AgentContext<never>) => unknown;

/**
 * `ctx.all` and `ctx.map`: runs branches side by side, each with names of its own. Ends when all succeeded, or enough of
 * them, or when that can no longer be; which ones counted is recorded, and the others are left.
 */
export async function branches(
  invocation: Invocation,
  scope: Scope,
  contextOf: (scope: Scope) => AgentContext<never>,
  name: string,
  runs: readonly Run[],
  options: Options = {},
): Promise<readonly BranchOutcome<unknown>[]> {
  invocation.checkCall('ctx.all', scope);
  const { concurrency = Infinity, enough, key } = options;
  if (!(concurrency >= 1)) throw invalidInput('`concurrency`', 'a number from 1', concurrency);
  if (enough !== undefined && !(Number.isSafeInteger(enough) && enough >= 0 && enough <= runs.length))
    throw invalidInput('`enough`', `a whole number from 0 to ${runs.length}, the number of branches`, enough);
  const identity = scope.enter(name, key);
  return invocation.runOperation(identity, async () => {
    const { id } = identity;
    const entry = invocation.journal.get(id);
    if (entry) invocation.checkEntry(id, entry, 'branches', undefined);
    const recorded = entry?.value as BranchCount | undefined;
    if (recorded && recorded.of !== runs.length)
      throw invocation.failAsNonDeterministic(
        nonDeterminismError(id, `has ${runs.length} branches in this code`, `${recorded.of} were recorded`),
      );
    const scopes = runs.map((_, i) => new Scope(`${id}[${i}]/`, scope));
    // A branch that did not count then begins nothing now.
    for (const [i, branch] of scopes.entries()) if (recorded && !hasCounted(recorded, i)) branch.close();
    const outcomes = await race(runs, scopes, contextOf, concurrency, enough ?? runs.length, recorded);
    if (!recorded && outcomes.some(({ status }) => status !== 'fulfilled'))
      await record(invocation, id, scopes, outcomes);
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
    const mayFail = runs.length - (enough ?? runs.length);
    if (recorded && failed.length <= mayFail) checkEnough(invocation, id, outcomes, enough ?? runs.length, recorded);
    if (failed.length > mayFail) {
      const reason = reasonOf(failed, enough);
      if (reason instanceof Error && !invocation.failedAt.has(reason)) invocation.failedAt.set(reason, id);
      throw reason;
    }
    return outcomes;
  });
}

/** Refuses code in which the branches that counted are no longer enough: what it promises to the agent would not hold. */
function checkEnough(
  invocation: Invocation,
  id: string,
  outcomes: readonly BranchOutcome<unknown>[],
  enough: number,
  recorded: BranchCount,
): void {
  const succeeded = outcomes.filter(({ status }) => status === 'fulfilled').length;
  if (succeeded >= enough) return;
  const wants = `needs ${enough} branches to succeed, and ${succeeded} do in this code`;
  throw invocation.failAsNonDeterministic(
    nonDeterminismError(id, wants, `it was recorded as over when ${recorded.fulfilled.length} had succeeded`),
  );
}

/**
 * Runs the branches until enough succeeded or too many failed. A replay waits for just those that counted; the others go
 * as far as they are recorded, because what they did to the state and what undoes it is theirs.
 */
function race(
  runs: readonly Run[],
  scopes: readonly Scope[],
  contextOf: (scope: Scope) => AgentContext<never>,
  concurrency: number,
  enough: number,
  recorded: BranchCount | undefined,
): Promise<BranchOutcome<unknown>[]> {
  const outcomes: BranchOutcome<unknown>[] = runs.map(() => ({ status: 'left' }));
  const has = { fulfilled: 0, rejected: 0, left: 0 };
  const isOver = () =>
    recorded
      ? has.fulfilled + has.rejected >= recorded.fulfilled.length + recorded.rejected.length
      : has.fulfilled >= enough || has.rejected > runs.length - enough;
  return new Promise((resolve) => {
    let next = 0;
    let over = false;
    const finish = () => {
      over = true;
      resolve(outcomes);
    };
    const begin = () => {
      const i = next++;
      const run = runs[i];
      const scope = scopes[i];
      if (over || !run || !scope) return;
      const isCounted = !recorded || hasCounted(recorded, i);
      const settled = (outcome: BranchOutcome<unknown>) => {
        if (over || !isCounted) return;
        outcomes[i] = outcome;
        has[outcome.status] += 1;
        if (isOver()) finish();
        else begin();
      };
      // Never in the same moment: the order of beginnings is that of the list.
      Promise.resolve()
        .then(() => run(contextOf(scope)))
        .then(
          (value) => settled({ status: 'fulfilled', value }),
          (reason: unknown) => settled({ status: 'rejected', reason }),
        );
      if (!isCounted) begin();
    };
    if (isOver()) finish();
    else for (let i = 0; i < Math.min(concurrency, runs.length); i++) begin();
  });
}

/** Records which branches counted, leaves the others, and withdraws what they ask. */
async function record(
  invocation: Invocation,
  id: string,
  scopes: readonly Scope[],
  outcomes: readonly BranchOutcome<unknown>[],
): Promise<void> {
  const placesOf = (status: string) => outcomes.flatMap((outcome, i) => (outcome.status === status ? [i] : []));
  const value: BranchCount = { of: outcomes.length, fulfilled: placesOf('fulfilled'), rejected: placesOf('rejected') };
  const left = placesOf('left').flatMap((i) => scopes[i] ?? []);
  for (const branch of left) branch.close();
  const leaves = abandonWaits(
    invocation,
    left.map(({ path }) => path),
  );
  await invocation.runActive(() => invocation.record({ ...leaves, entries: [[id, { kind: 'branches', value }]] }));
}

function reasonOf(failed: readonly { readonly reason: unknown }[], enough: number | undefined): unknown {
  const reasons = failed.map(({ reason }) => reason);
  return enough === undefined
    ? reasons[0]
    : new AggregateError(reasons, `Too many branches failed for ${enough} to succeed.`);
}
