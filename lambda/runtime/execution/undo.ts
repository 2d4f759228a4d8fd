import { decodeResult } from '../../checkpoints/engine.ts';
import { WaitstateError } from '../../core/errors.ts';
import { cancelRun } from '../control/run-control.ts';
import type { StepContext } from '../definition/agent-context.ts';
import { toError } from '../definition/agent-errors.ts';
import type { Invocation } from '../invocation/invocation.ts';
import { Superseded } from '../invocation/write-queue.ts';
import { type Entry, hasSettled, isUndoable, type StepEntry } from '../journal/entries.ts';
import { operationName } from '../journal/identity.ts';
import { runOrReplay } from '../operations/step.ts';
import { recordEnd } from './record-end.ts';

/**
 * Takes back what can be taken back, the last first, each recorded; then the run ends as its head says. A step that
 * cannot be undone does not keep the others from it.
 */
export async function undoAll(invocation: Invocation): Promise<void> {
  await cancelChildren(invocation);
  const failures: { readonly step: string; readonly error: Error }[] = [];
  for (const { id, entry } of toUndo(invocation)) {
    try {
      await undo(invocation, id, entry);
    } catch (thrown) {
      failures.push({ step: stepOf(id), error: toError(thrown) });
    }
  }
  await endAsHeadSays(
    invocation,
    failures.map(({ step, error }) => `${step}: ${error.message}`),
  );
}

/** The last checkpoint of a run that did not succeed; when a cancel comes before it, the run ends as that says. */
async function endAsHeadSays(invocation: Invocation, notUndone: readonly string[]): Promise<void> {
  const status = invocation.work.ending ?? 'FAILED';
  // Whoever ended the run from outside wrote it there.
  const why = decodeResult(invocation.at, invocation.writer.loaded, '@error') as Entry | undefined;
  const error: Entry = { kind: 'result', error: cancelled(invocation), ...why };
  try {
    await recordEnd(invocation, {
      status,
      entries: [['@error', { ...error, ...(notUndone.length > 0 && { notUndone }) }]],
    });
    invocation.finish(status);
  } catch (lost) {
    if (!(lost instanceof Superseded)) throw lost;
    await endAsHeadSays(invocation, notUndone);
  }
}

/** What can be undone, in the reverse of the order in which it was done. */
function toUndo({ journal }: Invocation): readonly { readonly id: string; readonly entry: StepEntry }[] {
  return [...journal]
    .flatMap(([id, entry]) => (isUndoable(entry) && !Object.hasOwn(entry, 'error') ? [{ id, entry }] : []))
    .toSorted((a, b) => (b.entry.order ?? 0) - (a.entry.order ?? 0));
}

/** The step of an entry that outlives its turn. */
const stepOf = (id: string): string => id.replace(/^@kept:/, '');

async function undo(invocation: Invocation, kept: string, entry: StepEntry): Promise<void> {
  const id = stepOf(kept);
  const run = invocation.undos.get(id) ?? invocation.agent.undo?.[operationName(id)];
  if (!run)
    throw new WaitstateError(
      'AGENT_MISUSED',
      `This code has no \`undo\` for step "${id}" any more; it was recorded with one.`,
      { scope: 'step' },
    );
  const { value } = entry.cached === undefined ? entry : (invocation.journal.get(entry.cached) ?? entry);
  await runOrReplay(invocation, undefined, {
    id: `@undo:${id}`,
    kind: 'undo',
    run: (tools: StepContext) => run(value as never, tools),
    options: {},
  });
}

/** Children that the run still waits for have nobody to work for. */
async function cancelChildren(invocation: Invocation): Promise<void> {
  const { at, journal } = invocation;
  const children = [...journal.values()].flatMap((entry) =>
    entry.kind === 'call' && !hasSettled(entry) ? (entry.child ?? []) : [],
  );
  for (const child of children) {
    const why = `The run "${at.run}" that called it has ended.`;
    await invocation
      .runStorageCall(() => cancelRun(invocation.runtime, child, why))
      .catch((lost) => {
        invocation.runtime.log('warn', 'A child run could not be cancelled.', { run: child, error: String(lost) });
      });
  }
}

const cancelled = ({ at }: Invocation): WaitstateError =>
  new WaitstateError('RUN_CANCELLED', `Run "${at.run}" was cancelled.`, { scope: 'run' });
