import { decodeResult } from '../../checkpoints/engine.ts';
import { WaitstateError } from '../../core/errors.ts';
import { operationName } from '../../core/operation-name.ts';
import { cancelRun, runCancelled } from '../control/run-control.ts';
import type { StepContext } from '../definition/agent-context.ts';
import { toError } from '../definition/agent-errors.ts';
import type { Invocation } from '../invocation/invocation.ts';
import { Superseded } from '../invocation/write-queue.ts';
import { type Entry, hasSettled, isUndoable, type StepEntry } from '../journal/entries.ts';
import { runOrReplay } from '../operations/step.ts';
import { recordEnd } from './record-end.ts';

/**
 * Undoes the completed steps of a run in reverse order and records each undo. Then the run ends with the status in its
 * head. A step whose undo fails does not stop the others.
 */
export async function undoAll(invocation: Invocation): Promise<void> {
  await cancelChildren(invocation);
  const failures: { readonly step: string; readonly error: Error }[] = [];
  for (const { id, entry } of undoableSteps(invocation)) {
    try {
      await undoStep(invocation, id, entry);
    } catch (thrown) {
      failures.push({ step: stepId(id), error: toError(thrown) });
    }
  }
  await endWithHeadStatus(
    invocation,
    failures.map(({ step, error }) => `${step}: ${error.message}`),
  );
}

/** Writes the last checkpoint of a run that did not succeed. If a cancel is written first, its status applies. */
async function endWithHeadStatus(invocation: Invocation, notUndone: readonly string[]): Promise<void> {
  const status = invocation.work.ending ?? 'FAILED';
  // Read from the checkpoint, because a cancel or a timeout records its error there and not in this journal.
  const recorded = decodeResult(invocation.at, invocation.writer.loaded, '@error') as Entry | undefined;
  const error: Entry = { kind: 'result', error: runCancelled(invocation.at.run), ...recorded };
  try {
    await recordEnd(invocation, {
      status,
      entries: [['@error', { ...error, ...(notUndone.length > 0 && { notUndone }) }]],
    });
    invocation.finish(status);
  } catch (failure) {
    if (!(failure instanceof Superseded)) throw failure;
    await endWithHeadStatus(invocation, notUndone);
  }
}

/** The steps to undo, the one that completed last first. */
function undoableSteps({ journal }: Invocation): readonly { readonly id: string; readonly entry: StepEntry }[] {
  return [...journal]
    .flatMap(([id, entry]) => (isUndoable(entry) && !Object.hasOwn(entry, 'error') ? [{ id, entry }] : []))
    .toSorted((a, b) => (b.entry.order ?? 0) - (a.entry.order ?? 0));
}

/** The id of a step, without the prefix of a step that was kept after its turn. */
const stepId = (id: string): string => id.replace(/^@kept:/, '');

async function undoStep(invocation: Invocation, keptId: string, entry: StepEntry): Promise<void> {
  const id = stepId(keptId);
  const undoFunction = invocation.undos.get(id) ?? invocation.agent.undo?.[operationName(id)];
  if (!undoFunction)
    throw new WaitstateError(
      'AGENT_MISUSED',
      `This code has no \`undo\` for step "${id}", which was recorded with one. Undo the step by hand, and keep its \`undo\` in the code until such runs have ended.`,
      { scope: 'step' },
    );
  const { value } = entry.cached === undefined ? entry : (invocation.journal.get(entry.cached) ?? entry);
  await runOrReplay(invocation, undefined, {
    id: `@undo:${id}`,
    kind: 'undo',
    run: (tools: StepContext) => undoFunction(value as never, tools),
    options: {},
  });
}

/** Cancels the child runs that the run still waits for, because it no longer needs their results. */
async function cancelChildren(invocation: Invocation): Promise<void> {
  const { at, journal } = invocation;
  const children = [...journal.values()].flatMap((entry) =>
    entry.kind === 'call' && !hasSettled(entry) ? (entry.child ?? []) : [],
  );
  for (const child of children) {
    const reason = `The parent run "${at.run}" is ending.`;
    await invocation
      .runStorageCall(() => cancelRun(invocation.runtime, child, reason))
      .catch((error) => {
        invocation.runtime.log('warn', 'A child run could not be cancelled.', { run: child, error: String(error) });
      });
  }
}
