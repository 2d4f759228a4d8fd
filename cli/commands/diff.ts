import { type Doc, equal, isFields } from '../../lambda/checkpoints/engine.ts';
import { WaitstateError } from '../../lambda/core/errors.ts';
import type { CheckpointView, DiffView } from '../../lambda/operator/operator.ts';
import { parseCheckpoint } from '../program/parse-arguments.ts';
import type { Session } from '../session.ts';
import { bold, dim, type Line } from '../terminal/line.ts';
import { addedOrRemovedLines, changedLines } from './output/difference-lines.ts';
import { printVerbatim } from './output/print-result.ts';

/** The checkpoints to compare; by default, the last two. */
export interface DiffArguments {
  readonly run: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Shows what changed between two checkpoints: in the state, and in the recorded results. */
export async function diff(session: Session, { run, before, after }: DiffArguments): Promise<void> {
  const { operator } = await session.openTarget();
  const to = await operator.checkpoint(run, after === undefined ? undefined : parseCheckpoint(after));
  const from = await operator.checkpoint(run, before === undefined ? previousVersion(to) : parseCheckpoint(before));
  const difference = await operator.diff(run, from.version, to.version);
  const { added, removed, changed } = difference;
  const results = diffResults(from, to);
  await printVerbatim(
    session,
    { run, before: from.version, after: to.version, added, removed, changed, results },
    () => [
      [bold(run), dim(`  version ${from.version} → ${to.version}`)],
      ...diffLines(difference, results, session.terminal.columns),
    ],
  );
}

function previousVersion({ run, version }: CheckpointView): number {
  if (version > 1) return version - 1;
  throw new WaitstateError(
    'CHECKPOINT_NOT_FOUND',
    `Version 1 is the first checkpoint of run "${run}". There is no earlier one to compare it with.`,
  );
}

/** Recorded results that were added, removed or changed. */
interface ResultChanges {
  readonly added: readonly { readonly id: string; readonly value: Doc }[];
  readonly removed: readonly { readonly id: string; readonly value: Doc }[];
  readonly changed: readonly { readonly id: string; readonly before: Doc; readonly after: Doc }[];
}

function diffResults(from: CheckpointView, to: CheckpointView): ResultChanges {
  const [before, after] = [resultsOf(from), resultsOf(to)];
  const only = (these: Results, those: Results) =>
    [...these].flatMap(([id, value]) => (those.has(id) ? [] : [{ id, value }]));
  const changed = [...after].flatMap(([id, value]) => {
    const old = before.get(id);
    return old === undefined || equal(old, value) ? [] : [{ id, before: old, after: value }];
  });
  return { added: only(after, before), removed: only(before, after), changed };
}

type Results = ReadonlyMap<string, Doc>;

/** The results of operations; for a durable run, without the runtime's own entries. */
function resultsOf({ toolResults, isDurable }: CheckpointView): Results {
  if (!isDurable) return new Map(Object.entries(toolResults));
  const inOrder = Object.entries(toolResults).toSorted(([, a], [, b]) => seqOf(a) - seqOf(b));
  const values = inOrder.flatMap(([id, entry]) => {
    const { value, error } = isFields(entry) ? entry : {};
    const outcome = value ?? error;
    const isInternal = id.startsWith('@') && id !== '@result' && id !== '@error';
    return isInternal || outcome === undefined ? [] : [[id.replace(/^@/, ''), outcome] as const];
  });
  return new Map(values);
}

/** The completion number of an operation. */
const seqOf = (entry: Doc): number => (isFields(entry) ? Number(entry.seq ?? Infinity) : Infinity);

function diffLines(difference: DiffView, results: ResultChanges, columns: number): readonly Line[] {
  const recorded = [
    ...results.added.flatMap(({ id, value }) => addedOrRemovedLines('+', id, value, columns)),
    ...results.removed.flatMap(({ id, value }) => addedOrRemovedLines('-', id, value, columns)),
    ...results.changed.flatMap(({ id, before, after }) => changedLines(id, before, after, columns)),
  ];
  const state = stateLines(difference, columns);
  if (state.length + recorded.length === 0) return [dim('No changes in the state or in the recorded results.')];
  return [
    ...(state.length > 0 ? state : [dim('No changes in the state.')]),
    ...(recorded.length > 0 ? [dim('Recorded results:'), ...recorded] : []),
  ];
}

function stateLines({ added, removed, changed, text }: DiffView, columns: number): readonly Line[] {
  const byPath = [
    ...added.map(({ path, value }) => [`+ ${path}`, addedOrRemovedLines('+', path, value, columns)] as const),
    ...removed.map(({ path, value }) => [`- ${path}`, addedOrRemovedLines('-', path, value, columns)] as const),
    ...changed.map(({ path, before, after }) => [`~ ${path}`, changedLines(path, before, after, columns)] as const),
  ];
  // The text lists the changes in the order of the state.
  const order = new Map(text.split('\n').map((line, index) => [line.slice(0, line.indexOf('  ')), index]));
  return byPath.toSorted(([a], [b]) => (order.get(a) ?? 0) - (order.get(b) ?? 0)).flatMap(([, lines]) => lines);
}
