import { isWaitstateError } from '../../../lambda/core/errors.ts';
import { hasEnded, type Status } from '../../../lambda/core/status.ts';
import { hasSettled } from '../../../lambda/runtime/journal/entries.ts';
import { difference, expectedOf } from '../expected.ts';
import type { StepOutput } from '../playing.ts';
import { movesIn } from '../program.ts';
import type { World } from '../world.ts';
import type { EndedRun } from './history.ts';

/** A run ended as its program says, unless somebody or its time ended it. */
export function checkResult(world: World, ended: EndedRun, cancelled: ReadonlySet<string>): void {
  const { run, head } = ended;
  const isOver = hasEnded(head.status);
  const problem = isOver
    ? (cancelProblem(world, ended) ?? PROBLEMS[head.status]?.(world, ended, cancelled))
    : 'it never ended';
  if (problem) world.wrong(`run ${run} is ${head.status}: ${problem}`);
}

/** Who cancelled a run and was told that it ends is not told so in vain. */
function cancelProblem(world: World, { run, head }: EndedRun): string | undefined {
  const told = world.ledger.cancels.get(run);
  const isPromised = told === 'ENDING' || told === 'CANCELLED';
  if (isPromised && head.status !== 'CANCELLED' && !givesUp(world)) return `somebody was told that it is ${told}`;
  return undefined;
}

type Problem = (world: World, ended: EndedRun, cancelled: ReadonlySet<string>) => string | undefined;

/** What is wrong with a run that ended in this way. */
const PROBLEMS: { readonly [S in Status]?: Problem } = {
  SUCCEEDED(world, ended) {
    const { run, program, last } = ended;
    const expected = expectedOf(program, world.ledger.mended.has(run));
    if (!expected) return 'its program throws';
    if (childFailed(world, ended)) return undefined;
    return difference(expected, last.entries.get('@result')?.value) ?? stateProblem(ended);
  },
  CANCELLED: (_, { run, head }, cancelled) =>
    cancelled.has(run) || head.parent !== undefined ? undefined : 'nobody cancelled it',
  FAILED(world, ended) {
    const { run, program, head, last } = ended;
    const { error } = last.entries.get('@error') ?? {};
    const timedOut = isWaitstateError(error, 'TIMED_OUT') && head.work?.deadline !== undefined;
    const exhausted = isWaitstateError(error, 'RUN_FAILED') && givesUp(world);
    if (timedOut || exhausted || childFailed(world, ended)) return undefined;
    return expectedOf(program, world.ledger.mended.has(run)) && `it should have succeeded: ${String(error)}`;
  },
};

/** Whether a run that crashes all the time is given up, whatever it was about to do. */
const givesUp = ({ maxAttempts }: World): boolean => maxAttempts < 10;

/** Whether a child of the run did not get where it should have, so that neither did the run. */
const childFailed = (world: World, { program }: EndedRun): boolean =>
  givesUp(world) && [...movesIn(program)].some((move) => move.do === 'call');

/** Every change of the state is in it, once. */
function stateProblem({ program, state }: EndedRun): string | undefined {
  const log = [...state.log].toSorted();
  const moves = [...movesIn(program)];
  const updates = moves.flatMap((move) => (move.do === 'update' ? [move.at] : [])).toSorted();
  const certain = moves.every((move) => move.do !== 'all' && move.do !== 'try');
  const isWhole = new Set(log).size === log.length && (!certain || String(log) === String(updates));
  return isWhole ? undefined : `its state has the changes ${log.join(' ')}; made were ${updates.join(' ')}`;
}

/** What a run did and can be undone was undone when it failed or was cancelled, as recorded; and only then. */
export function checkUndone(world: World, { run, head, last, versions }: EndedRun): void {
  const { undone } = world.ledger;
  if (givesUp(world)) return;
  const wrong = (what: string) => world.wrong(`run ${run} is ${head.status}: ${what}`);
  const everEnded = versions.some(({ entries }) => entries.has('@error'));
  for (const [kept, entry] of last.entries) {
    if (!entry.undo || !Object.hasOwn(entry, 'value')) continue;
    const id = kept.replace(/^@kept:/, '');
    const { execution, stubborn } = entry.value as StepOutput;
    const undo = last.entries.get(`@undo:${id}`);
    if (head.status === 'SUCCEEDED') {
      if (undone.has(execution)) wrong(`"${id}" was undone`);
      continue;
    }
    if (!undo || !hasSettled(undo)) wrong(`"${id}" was not undone`);
    else if (Object.hasOwn(undo, 'error') && !stubborn) wrong(`"${id}" could not be undone: ${String(undo.error)}`);
    else if (!undone.has(execution)) wrong(`"${id}" is said to be undone, and nobody did it`);
  }
  if (head.status === 'SUCCEEDED' && !everEnded)
    for (const { run: of, number } of world.ledger.executions)
      if (of === run && undone.has(number)) wrong(`execution ${number} was undone`);
}
