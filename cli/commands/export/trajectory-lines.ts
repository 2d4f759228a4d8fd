import { type Doc, type Fields, isFields, isList, type List } from '../../../lambda/checkpoints/engine.ts';
import { omitUndefined } from '../../../lambda/core/omit-undefined.ts';
import type { ApprovalDocument } from '../../../lambda/operator/approval-document.ts';
import type { CheckpointView, RunView } from '../../../lambda/operator/operator.ts';
import { type ExportSource, unlessGone } from './checkpoint-lines.ts';

/** A run as training data: its messages, and the decisions on its approvals. */
export interface Trajectory {
  readonly run: string;
  readonly agent?: string;
  readonly status: string;
  /** Whether the messages come from the agent's state, or were built from the recorded results. */
  readonly source: 'state' | 'journal';
  readonly messages: List;
  readonly model?: Doc;
  readonly decisions: readonly object[];
}

/** Yields one line for each run. */
export async function* trajectoryLines({
  operator,
  runs,
  progress,
  onSkipped,
}: ExportSource): AsyncGenerator<Trajectory> {
  for (const [done, run] of runs.entries()) {
    progress.update(done, runs.length, 'runs exported');
    const read = async () => {
      const [view, checkpoint, approvals] = await Promise.all([
        operator.run(run),
        operator.checkpoint(run),
        operator.approvals(run),
      ]);
      return toTrajectory(view, checkpoint, approvals);
    };
    const trajectory = await unlessGone(read);
    if (trajectory) yield trajectory;
    else onSkipped(run);
  }
}

function toTrajectory(view: RunView, checkpoint: CheckpointView, approvals: readonly ApprovalDocument[]): Trajectory {
  const { run, agent, status } = view;
  const messagesInState = findMessages(checkpoint.state);
  return {
    run,
    ...omitUndefined({ agent }),
    status,
    source: messagesInState ? 'state' : 'journal',
    messages: messagesInState ?? messagesFromJournal(view, checkpoint),
    ...omitUndefined({ model: checkpoint.model }),
    decisions: approvals.map(toDecision),
  };
}

const MAX_DEPTH = 3;

/** Finds the first list of messages in a state: objects with a role. */
function findMessages(state: Doc, level = 0): List | undefined {
  if (isList(state)) return state.length > 0 && state.every(isMessage) ? state : undefined;
  if (!isFields(state) || level >= MAX_DEPTH) return undefined;
  for (const part of Object.values(state)) {
    const found = findMessages(part, level + 1);
    if (found) return found;
  }
  return undefined;
}

const isMessage = (item: Doc): boolean => isFields(item) && typeof item.role === 'string';

/** Builds messages from the input, the results of tools and steps in order, and the result. */
function messagesFromJournal({ input, result, error }: RunView, { toolResults, isDurable }: CheckpointView): List {
  const recorded = Object.entries(toolResults)
    .filter(([id]) => !id.startsWith('@'))
    .map(([id, entry]) =>
      isDurable ? toMessage(id, entry) : { seq: 0, message: { role: 'tool', name: id, content: entry } },
    )
    .filter((each) => each !== undefined)
    .sort((a, b) => a.seq - b.seq);
  return [
    ...(input === undefined ? [] : [{ role: 'user', content: input }]),
    ...recorded.map(({ message }) => message),
    ...(result === undefined ? [] : [{ role: 'assistant', content: result }]),
    ...(error === undefined ? [] : [{ role: 'assistant', content: `${error.name}: ${error.message}` }]),
  ];
}

/** The message of a completed journal entry; undefined for a pending one, and for approvals and timers. */
function toMessage(id: string, entry: Doc): { readonly seq: number; readonly message: Fields } | undefined {
  if (
    !isFields(entry) ||
    (entry.kind !== 'step' && entry.kind !== 'tool' && entry.kind !== 'call' && entry.kind !== 'signal')
  )
    return undefined;
  const seq = Number(entry.seq ?? 0);
  const role = entry.kind === 'signal' ? 'user' : 'tool';
  if (Object.hasOwn(entry, 'error')) return { seq, message: { role, name: id, error: entry.error ?? null } };
  return Object.hasOwn(entry, 'value') ? { seq, message: { role, name: id, content: entry.value ?? null } } : undefined;
}

function toDecision({ id, title, show, facts, status, votes }: ApprovalDocument): object {
  return { approval: id, title, ...omitUndefined({ show, facts }), status, votes };
}
