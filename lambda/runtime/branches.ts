import { refused } from '../core/input.ts';
import type { AgentContext, BranchOptions, BranchOutcome } from './agent-context.ts';
import { readApprovals, withdrawWrites } from './approvals/approval-records.ts';
import { checkEntry } from './entries.ts';
import { Scope } from './identity.ts';
import type { Invocation } from './invocation.ts';
import { leaving } from './step.ts';

/** Which branches counted, by their places: what is recorded, so that a replay counts the same. */
interface Counted {
  readonly fulfilled: readonly number[];
  readonly rejected: readonly number[];
}

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
  invocation.checkCall('ctx.all');
  const { concurrency = Infinity, enough, key } = options;
  if (!(concurrency >= 1)) throw refused('`concurrency`', 'a number from 1', concurrency);
  if (enough !== undefined && !(Number.isSafeInteger(enough) && enough >= 0 && enough <= runs.length))
    throw refused('`enough`', `a whole number from 0 to ${runs.length}, the number of branches`, enough);
  const identity = scope.enter(name, key);
  return leaving(identity, async () => {
    const { id } = identity;
    const entry = invocation.journal.get(id);
    if (entry) checkEntry(id, entry, 'branches', undefined);
    const recorded = entry?.value as Counted | undefined;
    const scopes = runs.map((_, i) => new Scope(`${id}[${i}]/`));
    // A branch that did not count then does not begin now.
    for (const [i, branch] of scopes.entries())
      branch.closed = scope.closed || (recorded !== undefined && !counts(recorded, i));
    const outcomes = await race(runs, scopes, contextOf, concurrency, enough ?? runs.length, recorded);
    if (!recorded && outcomes.some(({ status }) => status !== 'fulfilled'))
      await record(invocation, id, scopes, outcomes);
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
    if (failed.length > runs.length - (enough ?? runs.length)) throw reasonOf(failed, enough);
    return outcomes;
  });
}

const counts = ({ fulfilled, rejected }: Counted, i: number): boolean => fulfilled.includes(i) || rejected.includes(i);

/** Runs the branches until enough succeeded or too many failed; a replay waits for just those that counted. */
function race(
  runs: readonly Run[],
  scopes: readonly Scope[],
  contextOf: (scope: Scope) => AgentContext<never>,
  concurrency: number,
  enough: number,
  recorded: Counted | undefined,
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
      if (recorded && !counts(recorded, i)) return begin();
      const settled = (outcome: BranchOutcome<unknown>) => {
        if (over) return;
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
  const value: Counted = { fulfilled: placesOf('fulfilled'), rejected: placesOf('rejected') };
  const left = placesOf('left').flatMap((i) => scopes[i] ?? []);
  for (const branch of left) branch.closed = true;
  const waits = invocation.waiting.filter((wait) => left.some(({ path }) => wait.startsWith(path)));
  const open = waits.flatMap((wait) => invocation.journal.get(wait)?.approval ?? []);
  for (const wait of waits) invocation.stopWaiting(wait);
  await invocation.active(() =>
    invocation.record({
      entries: [[id, { kind: 'branches', value }]],
      ...(open.length > 0 && {
        beside: async () =>
          withdrawWrites(invocation.at, await readApprovals(invocation.at, open), 'It is no longer needed.'),
        work: (work) => ({ ...work, approvals: work.approvals?.filter((approval) => !open.includes(approval)) }),
      }),
    }),
  );
}

function reasonOf(failed: readonly { readonly reason: unknown }[], enough: number | undefined): unknown {
  const reasons = failed.map(({ reason }) => reason);
  return enough === undefined
    ? reasons[0]
    : new AggregateError(reasons, `Too many branches failed for ${enough} to succeed.`);
}
