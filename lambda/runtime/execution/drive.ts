import type { RunContext } from '../../checkpoints/engine.ts';
import { isWaitstateError } from '../../core/errors.ts';
import { withdrawWritesById } from '../control/end-run.ts';
import { Done } from '../definition/agent-context.ts';
import type { AgentDefinition } from '../definition/agent-definition.ts';
import { toError } from '../definition/agent-errors.ts';
import { validate } from '../definition/standard-schema.ts';
import type { BatchItem } from '../invocation/batch.ts';
import type { ClaimedRun } from '../invocation/claim.ts';
import { EditedState } from '../invocation/edited-state.ts';
import { Invocation } from '../invocation/invocation.ts';
import type { InvocationEnd } from '../invocation/invocation-end.ts';
import { Superseded } from '../invocation/write-queue.ts';
import { type Entry, entryOf, isUndoable, needsCleanup } from '../journal/entries.ts';
import { findFailedStep } from '../journal/failed-step.ts';
import { Scope } from '../journal/identity.ts';
import { createContext } from '../operations/create-context.ts';
import { abandonWaits } from '../operations/wait-operations.ts';
import type { Runtime } from '../runtime.ts';
import { recordEnd } from './record-end.ts';
import { undoAll } from './undo.ts';

type Definition = AgentDefinition<never, unknown, unknown>;

/** How the agent's function ended; 'superseded' when the run ends without it. */
type AgentOutcome = { readonly value: unknown } | { readonly error: unknown } | 'superseded';

/** Runs a claimed run until it ends, suspends, yields or is fenced. Never rejects. */
export async function drive(
  runtime: Runtime,
  at: RunContext,
  agent: Definition,
  claimed: ClaimedRun,
): Promise<InvocationEnd> {
  const invocation = new Invocation(runtime, at, agent, claimed);
  runToEnd(invocation).catch((error) => invocation.fail(error));
  return invocation.ended.promise;
}

async function runToEnd(invocation: Invocation): Promise<void> {
  // A turn agent is not replayed: its steps are undone by the `undo` functions of its definition.
  if (invocation.isEnding && invocation.agent.turn) return undoAll(invocation);
  const outcome = await Promise.race([callAgent(invocation), waitUntilSuperseded(invocation)]);
  invocation.hasReturned = outcome !== 'superseded';
  // Operations that still run complete and are recorded before the run ends.
  await invocation.waitUntilIdle();
  if (invocation.nonDeterminism && !invocation.isEnding) return failRun(invocation, invocation.nonDeterminism);
  if (invocation.isEnding || outcome === 'superseded') return undoAll(invocation);
  if ('error' in outcome) return failRun(invocation, outcome.error);
  const { lastTurn } = invocation;
  const result: Entry = { kind: 'result', value: outcome.value };
  try {
    const entries = [...(lastTurn?.entries ?? []), ['@result', result] as const];
    await recordEnd(invocation, { ...lastTurn, status: 'SUCCEEDED', entries });
    invocation.finish('SUCCEEDED');
  } catch (error) {
    if (error instanceof Superseded) return undoAll(invocation);
    // The end was not written: the result or the state cannot be stored.
    return failRun(invocation, error);
  }
}

/** Resolves when the run has to end without its agent, such as by a cancel, and the replay got as far as it can. */
async function waitUntilSuperseded(invocation: Invocation): Promise<AgentOutcome> {
  if (!invocation.isEnding) await invocation.superseded.promise;
  await invocation.waitUntilIdle();
  return 'superseded';
}

async function callAgent(invocation: Invocation): Promise<AgentOutcome> {
  const { agent, journal } = invocation;
  try {
    const input = journal.get('@input')?.value as never;
    const value = await (agent.turn ? callTurns(invocation, input) : callRun(invocation, input));
    return { value: await validate(`The result of agent "${agent.name}"`, agent.result, value) };
  } catch (error) {
    return { error };
  }
}

async function callRun(invocation: Invocation, input: never): Promise<unknown> {
  const { agent } = invocation;
  if (!invocation.isLive) invocation.replayedState = new EditedState(await agent.state?.initial(input));
  return agent.run?.(createContext(invocation, new Scope()), input);
}

/** Calls one turn after the other. Each ends with a checkpoint that has its state and drops its journal entries. */
async function callTurns(invocation: Invocation, input: never): Promise<unknown> {
  const { agent, journal } = invocation;
  for (;;) {
    const turn = entryOf(journal, TURN_ID, 'cursor')?.cursor ?? 1;
    const scope = new Scope(`turn ${turn}/`);
    const turnState = new EditedState(invocation.writer.state);
    const returned = await agent.turn?.(createContext(invocation, scope, turnState), turnState.value as never, input);
    if (invocation.isEnding) return invocation.hang();
    const next = returned instanceof Done ? returned.state : returned;
    const state = next === undefined ? turnState.value : next;
    scope.close();
    invocation.events.forget(scope.path);
    const item = turnEndItem(invocation, scope.path, turn, state);
    if (returned instanceof Done) {
      invocation.lastTurn = item;
      return returned.result;
    }
    await invocation.runActive(() => invocation.record(item));
    if (!invocation.canBegin) return invocation.hang();
  }
}

const TURN_ID = '@turn';

function turnEndItem(invocation: Invocation, path: string, turn: number, state: unknown): BatchItem {
  const turnEntries = [...invocation.journal].filter(([id]) => id.startsWith(path));
  // Steps that can be undone are kept after their turn.
  const kept = turnEntries
    .filter(([, entry]) => isUndoable(entry))
    .map(([id, entry]) => [`@kept:${id}`, entry] as const);
  const next: Entry = { kind: 'cursor', cursor: turn + 1 };
  return {
    ...abandonWaits(invocation, [path]),
    step: `turn ${turn}`,
    entries: [[TURN_ID, next], ...kept],
    forget: turnEntries.map(([id]) => id),
    edit: () => state,
  };
}

/** Fails the run. Its steps are undone first, except after a non-determinism error: the code may not match them. */
async function failRun(invocation: Invocation, thrown: unknown): Promise<void> {
  const error = toError(thrown);
  const failedOperations = findFailedOperations(invocation, thrown);
  const entry: Entry = { kind: 'result', error, ...(failedOperations.length > 0 && { failedOperations }) };
  const { stepNumber } = invocation.writer.loaded.record.meta;
  const failedAt = findFailedStep(invocation.journal, failedOperations, stepNumber);
  const isNonDeterministic = isWaitstateError(error, 'STEP_MISMATCH');
  const needsUndo = !isNonDeterministic && [...invocation.journal.values()].some(needsCleanup);
  invocation.pendingWaits.stopAll();
  try {
    if (!needsUndo) {
      await recordEnd(invocation, { status: 'FAILED', entries: [['@error', entry]], failedAt });
      return invocation.finish('FAILED');
    }
    await invocation.record({
      status: 'ENDING',
      entries: [['@error', entry]],
      failedAt,
      sideWrites: () => withdrawWritesById(invocation.at, invocation.work.approvals ?? [], 'The run has failed.'),
      work: (work) => ({ ...work, ending: 'FAILED', approvals: undefined }),
    });
  } catch (failure) {
    if (failure instanceof Superseded) return undoAll(invocation);
    // The error itself cannot be stored, but its name, message and stack can.
    if (!isWaitstateError(failure, 'UNSUPPORTED_VALUE') || thrown === failure) throw failure;
    const { name, message, stack } = error;
    return failRun(invocation, Object.assign(new Error(message), { name, stack }));
  }
  invocation.isEnding = true;
  return undoAll(invocation);
}

/** The operations that an error came from: the error itself, its causes, and the errors that it aggregates. */
function findFailedOperations(invocation: Invocation, thrown: unknown, seen = new Set<unknown>()): readonly string[] {
  if (!(thrown instanceof Error) || seen.has(thrown)) return [];
  seen.add(thrown);
  const parts = [thrown.cause, ...(thrown instanceof AggregateError ? thrown.errors : [])];
  const failed = invocation.failedOperations.get(thrown);
  const inner = parts.flatMap((part) => findFailedOperations(invocation, part, seen));
  return failed === undefined ? inner : [failed, ...inner];
}
