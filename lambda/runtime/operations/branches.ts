import { invalidInput } from '../../core/invalid-input.ts';
import type { AgentContext, BranchOptions, BranchOutcome } from '../definition/agent-context.ts';
import type { Invocation } from '../invocation/invocation.ts';
import { type BranchCount, hasCounted } from '../journal/branch-count.ts';
import { nonDeterminismError } from '../journal/entries.ts';
import { Scope } from '../journal/identity.ts';
import { abandonWaits } from './wait-operations.ts';

type BranchesOptions = BranchOptions & { readonly minSuccessful?: number | undefined };
type BranchFunction = (ctx: AgentContext<never>) => unknown;

/**
 * Implements `ctx.all` and `ctx.map`: runs branches concurrently, each in its own naming scope. Completes when enough
 * branches have succeeded (by default all), or when too many have failed for that. It records which branches counted
 * and abandons the others.
 */
export async function branches(
  invocation: Invocation,
  scope: Scope,
  createContext: (scope: Scope) => AgentContext<never>,
  name: string,
  runs: readonly BranchFunction[],
  options: BranchesOptions = {},
): Promise<readonly BranchOutcome<unknown>[]> {
  invocation.checkCall('ctx.all', scope);
  const { concurrency = Infinity, minSuccessful, key } = options;
  if (!(concurrency >= 1)) throw invalidInput('`concurrency`', 'a number from 1', concurrency);
  const required = minSuccessful === undefined ? runs.length : minSuccessful;
  if (!(Number.isSafeInteger(required) && required >= 0 && required <= runs.length))
    throw invalidInput('`minSuccessful`', `a whole number from 0 to ${runs.length}, the number of branches`, required);
  const identity = scope.enter(name, key);
  return invocation.runOperation(identity, async () => {
    const { id } = identity;
    const recorded = invocation.recorded(id, 'branches')?.value;
    if (recorded && recorded.total !== runs.length)
      throw invocation.failAsNonDeterministic(
        nonDeterminismError(id, `has ${runs.length} branches in this code`, `${recorded.total} were recorded`),
      );
    const scopes = runs.map((_, i) => new Scope(`${id}[${i}]/`, scope));
    // A branch that did not count starts nothing new in a replay.
    for (const [i, branch] of scopes.entries()) if (recorded && !hasCounted(recorded, i)) branch.close();
    const outcomes = await runBranches(runs, scopes, createContext, concurrency, required, recorded);
    if (!recorded && outcomes.some(({ status }) => status !== 'fulfilled'))
      await recordBranchCount(invocation, id, scopes, outcomes);
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
    const maxFailures = runs.length - required;
    if (recorded && failed.length <= maxFailures) checkMinSuccessful(invocation, id, outcomes, required, recorded);
    if (failed.length > maxFailures) {
      const reason = failureReason(failed, minSuccessful);
      if (reason instanceof Error && !invocation.failedOperations.has(reason))
        invocation.failedOperations.set(reason, id);
      throw reason;
    }
    return outcomes;
  });
}

/** Fails as non-deterministic when fewer of the counted branches succeed in this code than `minSuccessful` requires. */
function checkMinSuccessful(
  invocation: Invocation,
  id: string,
  outcomes: readonly BranchOutcome<unknown>[],
  required: number,
  recorded: BranchCount,
): void {
  const succeeded = outcomes.filter(({ status }) => status === 'fulfilled').length;
  if (succeeded >= required) return;
  const expectation = `needs ${required} successful branches and gets ${succeeded} in this code`;
  throw invocation.failAsNonDeterministic(
    nonDeterminismError(id, expectation, `it was recorded as completed with ${recorded.fulfilled.length}`),
  );
}

/**
 * Runs the branches until enough have succeeded or too many have failed. A replay waits only for the branches that
 * counted. The others replay as far as they are recorded, to restore their state edits and register their undo
 * functions.
 */
function runBranches(
  runs: readonly BranchFunction[],
  scopes: readonly Scope[],
  createContext: (scope: Scope) => AgentContext<never>,
  concurrency: number,
  required: number,
  recorded: BranchCount | undefined,
): Promise<BranchOutcome<unknown>[]> {
  const outcomes: BranchOutcome<unknown>[] = runs.map(() => ({ status: 'abandoned' }));
  const totals = { fulfilled: 0, rejected: 0, abandoned: 0 };
  const isComplete = () =>
    recorded
      ? totals.fulfilled + totals.rejected >= recorded.fulfilled.length + recorded.rejected.length
      : totals.fulfilled >= required || totals.rejected > runs.length - required;
  return new Promise((resolve) => {
    let next = 0;
    let isFinished = false;
    const finish = () => {
      isFinished = true;
      resolve(outcomes);
    };
    const startNext = () => {
      const i = next++;
      const run = runs[i];
      const scope = scopes[i];
      if (isFinished || !run || !scope) return;
      const isCounted = !recorded || hasCounted(recorded, i);
      const settled = (outcome: BranchOutcome<unknown>) => {
        if (isFinished || !isCounted) return;
        outcomes[i] = outcome;
        totals[outcome.status] += 1;
        if (isComplete()) finish();
        else startNext();
      };
      // Deferred, so that branches always start in the order of the list.
      Promise.resolve()
        .then(() => run(createContext(scope)))
        .then(
          (value) => settled({ status: 'fulfilled', value }),
          (reason: unknown) => settled({ status: 'rejected', reason }),
        );
      if (!isCounted) startNext();
    };
    if (isComplete()) finish();
    else for (let i = 0; i < Math.min(concurrency, runs.length); i++) startNext();
  });
}

/** Records which branches counted, abandons the others and withdraws their pending approvals. */
async function recordBranchCount(
  invocation: Invocation,
  id: string,
  scopes: readonly Scope[],
  outcomes: readonly BranchOutcome<unknown>[],
): Promise<void> {
  const indexesOf = (status: string) => outcomes.flatMap((outcome, i) => (outcome.status === status ? [i] : []));
  const value: BranchCount = {
    total: outcomes.length,
    fulfilled: indexesOf('fulfilled'),
    rejected: indexesOf('rejected'),
  };
  const abandonedScopes = indexesOf('abandoned').flatMap((i) => scopes[i] ?? []);
  for (const branch of abandonedScopes) branch.close();
  const abandoned = abandonWaits(
    invocation,
    abandonedScopes.map(({ path }) => path),
  );
  await invocation.runActive(() =>
    invocation.record({ ...abandoned, entries: [[id, { kind: 'branches', value }]], note: `end of ${id}` }),
  );
}

function failureReason(failed: readonly { readonly reason: unknown }[], minSuccessful: number | undefined): unknown {
  const reasons = failed.map(({ reason }) => reason);
  return minSuccessful === undefined
    ? reasons[0]
    : new AggregateError(reasons, `Too many branches failed for ${minSuccessful} to succeed.`);
}
