import { type Entry, entryOf, hasSettled } from './entries.ts';
import { joinNames } from './join-names.ts';

/** The step at which a run failed: its id, or the ids of several, and its number. */
export interface FailedStep {
  readonly step: string;
  readonly stepNumber: number;
}

type Operation = readonly [id: string, entry: Entry];

/**
 * The step, or the other operation, at which a run failed, from the operations that its error came from. Other branches
 * may have completed steps since. Undefined when the error came from no operation.
 */
export function findFailedStep(
  journal: ReadonlyMap<string, Entry>,
  failedOperations: readonly string[],
  stepNumber: number,
): FailedStep | undefined {
  const completed = [...journal].filter(([, entry]) => hasSettled(entry) && entry.seq !== undefined).toSorted(bySeq);
  const ids = new Set(failedOperations.flatMap((id) => lastOfFailedBranches(journal, completed, id) ?? [id]));
  const failed = completed.filter(([id]) => ids.has(id));
  const last = failed.at(-1);
  if (!last) return undefined;
  const laterSteps = completed.slice(completed.indexOf(last) + 1).filter(isStep);
  return { step: joinNames(failed.map(([id]) => id)), stepNumber: stepNumber - laterSteps.length };
}

/** The operation that each failed branch completed last, when code of a branch threw the error. */
function lastOfFailedBranches(
  journal: ReadonlyMap<string, Entry>,
  completed: readonly Operation[],
  id: string,
): readonly string[] | undefined {
  const { rejected = [] } = entryOf(journal, id, 'branches')?.value ?? {};
  const last = rejected.flatMap((i) => completed.findLast(([each]) => each.startsWith(`${id}[${i}]/`))?.[0] ?? []);
  return last.length > 0 ? last : undefined;
}

/** Whether an operation was recorded as a step of the run. */
const isStep = ([, { kind, ...entry }]: Operation): boolean =>
  kind === 'step' || kind === 'tool' || (kind === 'update' && Object.hasOwn(entry, 'error'));

const bySeq = ([, a]: Operation, [, b]: Operation): number => (a.seq ?? 0) - (b.seq ?? 0);
