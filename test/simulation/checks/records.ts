import { isDeepStrictEqual } from 'node:util';
import { type Entry, hasSettled } from '../../../lambda/runtime/journal/entries.ts';
import type { StepOutput } from '../playing.ts';
import type { World } from '../world.ts';
import type { EndedRun, Version } from './history.ts';

/** Checks that recorded results never change, except those that a retry discards or that belong to a past turn. */
export function checkSettled(world: World, { run, versions }: EndedRun): void {
  let before: Version | undefined;
  for (const now of versions) {
    for (const [id, entry] of before?.entries ?? []) {
      if (!hasSettled(entry) || CHANGING.has(id)) continue;
      const after = now.entries.get(id);
      if (!after && (now.kind === 'retry' || id.startsWith('turn '))) continue;
      if (!isDeepStrictEqual(after, entry))
        world.addFinding(
          `checkpoint ${now.version} of run ${run} changes the completed "${id}" from ${format(entry)} to ${format(after)}`,
        );
    }
    before = now;
  }
}

// These entries change during the whole run.
const CHANGING = new Set(['@error', '@cursor', '@turn']);

const format = (entry: Entry | undefined): string => JSON.stringify(entry)?.slice(0, 200) ?? 'nothing';

/** The commit that first recorded each execution of a run, and the id of its operation. */
function findRecorded({ versions }: EndedRun): Map<number, { readonly commit: number; readonly id: string }> {
  const recorded = new Map<number, { commit: number; id: string }>();
  for (const { entries, commit } of versions) {
    for (const [id, { value }] of entries) {
      const { execution } = Object(value) as Partial<StepOutput>;
      if (execution !== undefined && !recorded.has(execution)) recorded.set(execution, { commit, id });
    }
  }
  return recorded;
}

/** Checks that an agent saw only results that its own run had committed before. */
export function checkSeen(world: World, ended: EndedRun): void {
  const recorded = findRecorded(ended);
  for (const { run, execution, commits } of world.ledger.sightings) {
    if (run !== ended.run) continue;
    const first = recorded.get(execution);
    if (!first) world.addFinding(`run ${run} saw execution ${execution}, which was never recorded`);
    else if (first.commit > commits) world.addFinding(`run ${run} saw execution ${execution} before it was recorded`);
  }
}

/** Checks that at-most-once steps ran once, and that no result of an undisturbed process that was in time is lost. */
export function checkEffects(world: World, ended: EndedRun): void {
  const recorded = findRecorded(ended);
  const startsByKey = new Map<string, number>();
  for (const { run, number, key, once, finishedInTime, process, invocation, at } of world.ledger.executions) {
    if (run !== ended.run) continue;
    startsByKey.set(key, (startsByKey.get(key) ?? 0) + 1);
    if (once && (startsByKey.get(key) ?? 0) > 1) world.addFinding(`at-most-once step ${at} of run ${run} ran again`);
    if (finishedInTime && invocation?.isDisturbed === false && !recorded.has(number))
      world.addFinding(`execution ${number} of step ${at} of run ${run} finished in ${process.name} and is lost`);
  }
  for (const [number, { id }] of recorded) {
    const execution = world.ledger.executions[number];
    if (!execution) world.addFinding(`run ${ended.run} recorded "${id}" from an execution that never happened`);
  }
}
