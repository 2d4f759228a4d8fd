import { isWaitstateError } from '../../../lambda/core/errors.ts';
import { hasEnded, type Status } from '../../../lambda/core/status.ts';
import { hasSettled, isUndoable } from '../../../lambda/runtime/journal/entries.ts';
import { difference, expectedOutput } from '../expected.ts';
import type { StepOutput } from '../playing.ts';
import { movesIn } from '../program.ts';
import type { World } from '../world.ts';
import type { EndedRun } from './history.ts';

/** Checks that a run ended with the result of its program, unless it was cancelled or timed out. */
export function checkResult(world: World, ended: EndedRun, cancelled: ReadonlySet<string>): void {
  const { run, head } = ended;
  const problem = hasEnded(head.status)
    ? (cancelProblem(world, ended) ?? PROBLEMS[head.status]?.(world, ended, cancelled))
    : 'it never ended';
  if (problem) world.addFinding(`run ${run} is ${head.status}: ${problem}`);
}

/** A confirmed cancel must lead to CANCELLED. */
function cancelProblem(world: World, { run, head }: EndedRun): string | undefined {
  const confirmed = world.ledger.cancels.get(run);
  const isConfirmed = confirmed === 'ENDING' || confirmed === 'CANCELLED';
  if (isConfirmed && head.status !== 'CANCELLED' && !givesUp(world)) return `a cancel was confirmed with ${confirmed}`;
  return undefined;
}

type Problem = (world: World, ended: EndedRun, cancelled: ReadonlySet<string>) => string | undefined;

/** Finds what is report with a run that ended with this status. */
const PROBLEMS: { readonly [S in Status]?: Problem } = {
  SUCCEEDED(world, ended) {
    const { run, program, last } = ended;
    const expected = expectedOutput(program, world.ledger.fixed.has(run));
    if (!expected) return 'its program throws';
    if (childFailed(world, ended)) return undefined;
    return difference(expected, last.entries.get('@result')?.value) ?? stateProblem(ended);
  },
  CANCELLED: (_, { run, head }, cancelled) =>
    cancelled.has(run) || head.parent !== undefined ? undefined : 'it was not cancelled by anyone',
  FAILED(world, ended) {
    const { run, program, head, last } = ended;
    const { error } = last.entries.get('@error') ?? {};
    const timedOut = isWaitstateError(error, 'TIMED_OUT') && head.work?.deadline !== undefined;
    const exhausted = isWaitstateError(error, 'RUN_FAILED') && givesUp(world);
    if (timedOut || exhausted || childFailed(world, ended)) return undefined;
    return expectedOutput(program, world.ledger.fixed.has(run)) && `it should have succeeded: ${String(error)}`;
  },
};

/** Whether a run fails after a few crashes in a row, even if its program would succeed. */
const givesUp = ({ maxClaimsWithoutProgress }: World): boolean => maxClaimsWithoutProgress < 10;

/** Whether a child run may have failed after crashes, which changes the result of its parent. */
const childFailed = (world: World, { program }: EndedRun): boolean =>
  givesUp(world) && [...movesIn(program)].some((move) => move.do === 'call');

/** Every update of the state must be in it exactly once. */
function stateProblem({ program, state }: EndedRun): string | undefined {
  const log = [...state.log].toSorted();
  const moves = [...movesIn(program)];
  const updates = moves.flatMap((move) => (move.do === 'update' ? [move.at] : [])).toSorted();
  const isCertain = moves.every((move) => move.do !== 'all' && move.do !== 'try');
  const isComplete = new Set(log).size === log.length && (!isCertain || String(log) === String(updates));
  return isComplete ? undefined : `expected the state to have the updates ${updates.join(' ')}, found ${log.join(' ')}`;
}

/** Checks that the undoable steps of a run were undone if, and only if, it failed or was cancelled. */
export function checkUndone(world: World, { run, head, last, versions }: EndedRun): void {
  const { undone } = world.ledger;
  if (givesUp(world)) return;
  const report = (what: string) => world.addFinding(`run ${run} is ${head.status}: ${what}`);
  const everEnded = versions.some(({ entries }) => entries.has('@error'));
  for (const [kept, entry] of last.entries) {
    if (!isUndoable(entry) || !Object.hasOwn(entry, 'value')) continue;
    const id = kept.replace(/^@kept:/, '');
    const { execution, stubborn } = entry.value as StepOutput;
    const undo = last.entries.get(`@undo:${id}`);
    if (head.status === 'SUCCEEDED') {
      if (undone.has(execution)) report(`"${id}" was undone`);
      continue;
    }
    if (!undo || !hasSettled(undo)) report(`"${id}" was not undone`);
    else if (Object.hasOwn(undo, 'error') && !stubborn) report(`"${id}" could not be undone: ${String(undo.error)}`);
    else if (!undone.has(execution)) report(`"${id}" is recorded as undone, but its undo never ran`);
  }
  if (head.status === 'SUCCEEDED' && !everEnded)
    for (const { run: of, number } of world.ledger.executions)
      if (of === run && undone.has(number)) report(`execution ${number} was undone`);
}
