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
import { Invocation, type InvocationEnd } from '../invocation/invocation.ts';
import { Superseded } from '../invocation/write-queue.ts';
import { type Entry, entryOf, isUndoable, needsCleanup } from '../journal/entries.ts';
import { Scope } from '../journal/identity.ts';
import { createContext } from '../operations/create-context.ts';
import { abandonWaits } from '../operations/wait-operations.ts';
import type { Runtime } from '../runtime.ts';
import { recordEnd } from './record-end.ts';
import { undoAll } from './undo.ts';

type Definition = AgentDefinition<never, unknown, unknown>;

/** How the function of an agent came back. */
type Returned = { readonly value: unknown } | { readonly error: unknown } | 'overtaken';

/** Runs a claimed run until it ends, waits, yields, or is somebody else's. Never rejects. */
export async function drive(
  runtime: Runtime,
  at: RunContext,
  agent: Definition,
  claimed: ClaimedRun,
): Promise<InvocationEnd> {
  const invocation = new Invocation(runtime, at, agent, claimed);
  conclude(invocation).catch((error) => invocation.fail(error));
  return invocation.ended.promise;
}

async function conclude(invocation: Invocation): Promise<void> {
  // A turn has nothing to replay: what it did is undone by what the agent names.
  if (invocation.isEnding && invocation.agent.turn) return undoAll(invocation);
  const returned = await Promise.race([call(invocation), overtaken(invocation)]);
  invocation.hasReturned = returned !== 'overtaken';
  // What is still under way was paid for: it is recorded before the end.
  await invocation.waitUntilIdle();
  if (invocation.nonDeterminism && !invocation.isEnding) return failed(invocation, invocation.nonDeterminism);
  if (invocation.isEnding || returned === 'overtaken') return undoAll(invocation);
  if ('error' in returned) return failed(invocation, returned.error);
  const { lastTurn } = invocation;
  const result: Entry = { kind: 'result', value: returned.value };
  try {
    const entries = [...(lastTurn?.entries ?? []), ['@result', result] as const];
    await recordEnd(invocation, { ...lastTurn, status: 'SUCCEEDED', entries });
    invocation.finish('SUCCEEDED');
  } catch (error) {
    if (error instanceof Superseded) return undoAll(invocation);
    // It is not over: its result, or its state, cannot be kept.
    return failed(invocation, error);
  }
}

/** Resolves when the run is to end in another way than by its agent, and the replay has got as far as it can. */
async function overtaken(invocation: Invocation): Promise<Returned> {
  if (!invocation.isEnding) await invocation.superseded.promise;
  await invocation.waitUntilIdle();
  return 'overtaken';
}

async function call(invocation: Invocation): Promise<Returned> {
  const { agent, journal } = invocation;
  try {
    const input = journal.get('@input')?.value as never;
    const value = await (agent.turn ? turns(invocation, input) : whole(invocation, input));
    return { value: await validate(`The result of agent "${agent.name}"`, agent.result, value) };
  } catch (error) {
    return { error };
  }
}

async function whole(invocation: Invocation, input: never): Promise<unknown> {
  const { agent } = invocation;
  if (!invocation.isLive) invocation.replayedState = new EditedState(await agent.state?.initial(input));
  return agent.run?.(createContext(invocation, new Scope()), input);
}

/** One turn after the other; each ends in a checkpoint with its state, and forgets what it remembered on the way. */
async function turns(invocation: Invocation, input: never): Promise<unknown> {
  const { agent, journal } = invocation;
  for (;;) {
    const turn = entryOf(journal, TURN, 'cursor')?.cursor ?? 1;
    const scope = new Scope(`turn ${turn}/`);
    const working = new EditedState(invocation.writer.state);
    const made = await agent.turn?.(createContext(invocation, scope, working), working.value as never, input);
    if (invocation.isEnding) return invocation.hang();
    const state = made === undefined || made instanceof Done ? working.value : made;
    scope.close();
    const item = endOfTurn(invocation, scope.path, turn, state);
    if (made instanceof Done) {
      invocation.lastTurn = item;
      return made.result;
    }
    await invocation.runActive(() => invocation.record(item));
    if (!invocation.canBegin) return invocation.hang();
  }
}

const TURN = '@turn';

function endOfTurn(invocation: Invocation, path: string, turn: number, state: unknown): BatchItem {
  const own = [...invocation.journal].filter(([id]) => id.startsWith(path));
  // What can be undone outlives its turn.
  const kept = own.filter(([, entry]) => isUndoable(entry)).map(([id, entry]) => [`@kept:${id}`, entry] as const);
  const next: Entry = { kind: 'cursor', cursor: turn + 1 };
  return {
    ...abandonWaits(invocation, [path]),
    ...{ step: `turn ${turn}`, entries: [[TURN, next], ...kept], forget: own.map(([id]) => id), edit: () => state },
  };
}

/** Fails the run: what was done is undone first, unless the code itself cannot be trusted with that. */
async function failed(invocation: Invocation, thrown: unknown): Promise<void> {
  const error = toError(thrown);
  const failedAt = operationsOf(invocation, thrown);
  const entry: Entry = { kind: 'result', error, ...(failedAt.length > 0 && { failedAt }) };
  const isUntrusted = isWaitstateError(error, 'STEP_MISMATCH');
  const undoes = !isUntrusted && [...invocation.journal.values()].some(needsCleanup);
  invocation.pendingWaits.stopAll();
  try {
    if (!undoes) {
      await recordEnd(invocation, { status: 'FAILED', entries: [['@error', entry]] });
      return invocation.finish('FAILED');
    }
    await invocation.record({
      status: 'ENDING',
      entries: [['@error', entry]],
      sideWrites: () => withdrawWritesById(invocation.at, invocation.work.approvals ?? [], 'The run has failed.'),
      work: (work) => ({ ...work, ending: 'FAILED', approvals: undefined }),
    });
  } catch (lost) {
    if (lost instanceof Superseded) return undoAll(invocation);
    // What was thrown cannot be kept as it is; what it says can.
    if (!isWaitstateError(lost, 'UNSUPPORTED_VALUE') || thrown === lost) throw lost;
    const { name, message, stack } = error;
    return failed(invocation, Object.assign(new Error(message), { name, stack }));
  }
  invocation.isEnding = true;
  return undoAll(invocation);
}

/** The operations at which an error came up: itself, what caused it, and what it sums up. */
function operationsOf(invocation: Invocation, thrown: unknown, seen = new Set<unknown>()): readonly string[] {
  if (!(thrown instanceof Error) || seen.has(thrown)) return [];
  seen.add(thrown);
  const parts = [thrown.cause, ...(thrown instanceof AggregateError ? thrown.errors : [])];
  const own = invocation.failedAt.get(thrown) ?? [];
  return [own, parts.flatMap((part) => operationsOf(invocation, part, seen))].flat();
}
