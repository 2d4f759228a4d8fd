import { isDeepStrictEqual } from 'node:util';
import { type Entry, hasSettled } from '../../../lambda/runtime/journal/entries.ts';
import type { StepOutput } from '../playing.ts';
import type { World } from '../world.ts';
import type { EndedRun, Version } from './history.ts';

/** What was recorded stays as it was, but for what a retry forgets on purpose and a turn that is over. */
export function checkSettled(world: World, { run, versions }: EndedRun): void {
  let before: Version | undefined;
  for (const now of versions) {
    for (const [id, entry] of before?.entries ?? []) {
      if (!hasSettled(entry) || MOVING.has(id)) continue;
      const after = now.entries.get(id);
      if (!after && (now.kind === 'retry' || id.startsWith('turn '))) continue;
      if (!isDeepStrictEqual(after, entry))
        world.wrong(
          `checkpoint ${now.version} of run ${run} changes "${id}", which was over: ${say(entry)} to ${say(after)}`,
        );
    }
    before = now;
  }
}

// What these say is never over.
const MOVING = new Set(['@error', '@cursor', '@turn']);

const say = (entry: Entry | undefined): string => JSON.stringify(entry)?.slice(0, 200) ?? 'nothing';

/** The commit that first recorded each execution of a run, and under which identity. */
function recordedIn({ versions }: EndedRun): Map<number, { readonly commit: number; readonly id: string }> {
  const recorded = new Map<number, { commit: number; id: string }>();
  for (const { entries, commit } of versions) {
    for (const [id, { value }] of entries) {
      const { execution } = Object(value) as Partial<StepOutput>;
      if (execution !== undefined && !recorded.has(execution)) recorded.set(execution, { commit, id });
    }
  }
  return recorded;
}

/** Nothing is known before it is saved: what the agent saw had been committed by then, and by its own run. */
export function checkSeen(world: World, ended: EndedRun): void {
  const recorded = recordedIn(ended);
  for (const { run, execution, commits } of world.ledger.sightings) {
    if (run !== ended.run) continue;
    const first = recorded.get(execution);
    if (!first) world.wrong(`run ${run} saw execution ${execution}, which was never recorded`);
    else if (first.commit > commits) world.wrong(`run ${run} saw execution ${execution} before it was recorded`);
  }
}

/** What may run once ran once; and what was done in time by a process that nothing happened to is not thrown away. */
export function checkEffects(world: World, ended: EndedRun): void {
  const recorded = recordedIn(ended);
  const begun = new Map<string, number>();
  for (const { run, number, key, once, finishedInTime, process, at } of world.ledger.executions) {
    if (run !== ended.run) continue;
    begun.set(key, (begun.get(key) ?? 0) + 1);
    if (once && (begun.get(key) ?? 0) > 1) world.wrong(`step ${at} of run ${run} may run once, and ran again`);
    if (finishedInTime && !process.touched && !recorded.has(number))
      world.wrong(`execution ${number} of step ${at} of run ${run} was done by ${process.name} and thrown away`);
  }
  for (const [number, { id }] of recorded) {
    const execution = world.ledger.executions[number];
    if (!execution) world.wrong(`run ${ended.run} has "${id}" from an execution that never was`);
  }
}
