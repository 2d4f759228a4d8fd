import { createHash } from 'node:crypto';
import { applyEdit, payload } from '../../checkpoints/engine.ts';
import {
  type AgentContext,
  type ApprovalOptions,
  type BranchOutcome,
  Done,
  type TurnContext,
} from '../definition/agent-context.ts';
import { agentMisuse, toError } from '../definition/agent-errors.ts';
import type { BatchItem } from '../invocation/batch.ts';
import type { EditedState } from '../invocation/edited-state.ts';
import type { Invocation } from '../invocation/invocation.ts';
import type { Entry, SmallEntry } from '../journal/entries.ts';
import type { Scope } from '../journal/identity.ts';
import { approval, ask } from './approval.ts';
import { branches } from './branches.ts';
import { recordEntry, step } from './step.ts';
import { tool } from './tool.ts';
import { call, sleep, waitForSignal } from './wait-operations.ts';

type Context = TurnContext<never>;

/**
 * Creates the `ctx` of an agent for one scope of an invocation. `turnState` is the state of the current turn; it is
 * saved when the turn ends.
 */
export function createContext(invocation: Invocation, scope: Scope, turnState?: EditedState): Context {
  const { at, agent } = invocation;
  const createBranchContext = (inner: Scope) => createContext(invocation, inner, turnState) as AgentContext<never>;
  const random = (call: string): Buffer => {
    invocation.checkCall(call, scope);
    const { id, release } = scope.enterUnnamed('random');
    release();
    return createHash('sha256')
      .update(`random ${invocation.seedFor(id)}`)
      .digest();
  };
  const context: Omit<Context, 'state'> = {
    run: at.run,
    tenant: at.tenant,
    agent: agent.name,
    requestedBy: invocation.writer.loaded.head.meta.requestedBy,
    step: (name, run, options) => step(invocation, scope, name, run, options),
    tool: (name, args, run, options) => tool(invocation, scope, name, args, run, options),
    update: (edit) => update(invocation, scope, turnState, edit as never) as Promise<never>,
    approval: (name: string, options: ApprovalOptions) => approval(invocation, scope, name, options) as Promise<never>,
    ask: (name: string, options: object) => ask(invocation, scope, name, options as never) as Promise<never>,
    sleep: (name, duration) => sleep(invocation, scope, name, duration),
    waitForSignal: (name: string, options?: object) =>
      waitForSignal(invocation, scope, name, options) as Promise<never>,
    call: (other, input, options) => call(invocation, scope, other, input, options),
    all: async (name: string, branchFunctions: object, options?: object) => {
      if (typeof branchFunctions !== 'object' || branchFunctions === null)
        throw agentMisuse(
          `\`ctx.all\` needs an array or an object of functions that take a context; found ${String(branchFunctions)}.`,
        );
      const keys = Object.keys(branchFunctions);
      const runs = Object.values(branchFunctions);
      const invalidIndex = runs.findIndex((run) => typeof run !== 'function');
      if (invalidIndex >= 0)
        throw agentMisuse(
          `\`ctx.all\` needs functions that take a context; branch "${keys[invalidIndex]}" is not a function.`,
        );
      const outcomes = toBranchResults(
        await branches(invocation, scope, createBranchContext, name, runs, options),
        options,
      );
      return (
        Array.isArray(branchFunctions) ? outcomes : Object.fromEntries(keys.map((key, i) => [key, outcomes[i]]))
      ) as never;
    },
    map: async (
      name: string,
      items: readonly unknown[],
      run: (ctx: never, item: never, i: number) => unknown,
      options?: object,
    ) => {
      if (!Array.isArray(items) || typeof run !== 'function')
        throw agentMisuse('`ctx.map` needs an array of items and a function that takes a context and an item.');
      const runs = items.map((item, i) => (ctx: AgentContext<never>) => run(ctx as never, item as never, i));
      return toBranchResults(
        await branches(invocation, scope, createBranchContext, name, runs, options),
        options,
      ) as never;
    },
    log: (message, fields = {}) => {
      if (invocation.isLive) invocation.runtime.log('info', message, { ...fields, run: at.run, agent: agent.name });
    },
    emit: (event) => emit(invocation, scope, event),
    payload,
    now: async () => {
      const { value } = await recordValueOnce(invocation, scope, 'now', 'now', async () => ({ value: invocation.now }));
      return new Date(value as number);
    },
    random: () => random('ctx.random').readUIntBE(0, 6) / 2 ** 48,
    uuid: () => toUuid(random('ctx.uuid')),
    checkpoint: async (name) => {
      await recordValueOnce(invocation, scope, 'checkpoint', 'checkpoint', async () => ({
        value: name,
        item: { name },
      }));
    },
    done: (result, state) => new Done(result, state),
  };
  return Object.defineProperty(preventUnhandledRejections(context), 'state', {
    enumerable: true,
    get: () =>
      turnState ? turnState.value : invocation.isLive ? invocation.writer.state : invocation.replayedState.value,
  }) as Context;
}

/** Keeps a failed operation that is not awaited from ending the process. Code that awaits it still gets the error. */
const preventUnhandledRejections = <C extends object>(context: C): C =>
  Object.fromEntries(
    Object.entries(context).map(([name, value]) => {
      if (typeof value !== 'function') return [name, value];
      const call = (...args: readonly unknown[]): unknown => {
        const result: unknown = value(...args);
        if (result instanceof Promise) result.catch(() => {});
        return result;
      };
      return [name, call];
    }),
  ) as C;

/** The outcome of each branch with `minSuccessful`, and the value of each branch without. */
const toBranchResults = (
  outcomes: readonly BranchOutcome<unknown>[],
  options: { readonly minSuccessful?: number } = {},
): unknown[] =>
  outcomes.map((outcome) =>
    options.minSuccessful === undefined ? (outcome.status === 'fulfilled' ? outcome.value : undefined) : outcome,
  );

function emit(invocation: Invocation, scope: Scope, event: unknown): void {
  const enclosing = invocation.inStep.getStore();
  if (enclosing !== undefined)
    throw agentMisuse(
      `\`ctx.emit\` was called inside ${enclosing}. Use the \`emit\` that the step's function receives.`,
    );
  invocation.checkCall('ctx.emit', scope);
  if (!scope.isClosed) invocation.events.emit(scope, invocation.now, event);
}

/** Returns the recorded value, or makes and records it. */
async function recordValueOnce(
  invocation: Invocation,
  scope: Scope,
  kind: SmallEntry['kind'],
  name: string,
  make: () => Promise<{ readonly value: unknown; readonly item?: BatchItem }>,
): Promise<Entry> {
  invocation.checkCall(`ctx.${name}`, scope);
  const identity = scope.enterUnnamed(name);
  return invocation.runOperation(identity, async () => {
    const { id } = identity;
    const existing = invocation.recorded(id, kind);
    if (existing) return existing;
    await invocation.begin(scope, id);
    const { value, item } = await make();
    await invocation.runActive(() => invocation.record({ ...item, entries: [[id, { kind, value }]], note: name }));
    return invocation.journal.entry(id);
  });
}

/**
 * Implements `ctx.update`. In a turn it changes the state of the turn. Otherwise the edit is recorded with the new
 * state, and a replay applies the same edits again, so that the agent sees at each point the state of that point.
 */
async function update(
  invocation: Invocation,
  scope: Scope,
  turnState: EditedState | undefined,
  edit: (draft: never) => unknown,
): Promise<unknown> {
  invocation.checkCall('ctx.update', scope);
  if (!invocation.agent.state)
    throw agentMisuse('`ctx.update` needs a state. Define `state: { initial }` on the agent.');
  if (typeof edit !== 'function') throw agentMisuse(`\`ctx.update\` needs a function; found ${typeof edit}.`);
  const change = (state: unknown) =>
    invocation.inStep.run('`ctx.update`', () => applyEdit(state, edit as never, undefined));
  if (turnState) {
    await turnState.edit(change);
    return turnState.value;
  }
  const identity = scope.enterUnnamed('update');
  return invocation.runOperation(identity, async () => {
    const { id } = identity;
    const existing = invocation.recorded(id, 'update');
    if (existing) {
      if (Object.hasOwn(existing, 'error')) throw existing.error;
      await invocation.replayedState.edit(change, existing.order);
      return invocation.isLive ? invocation.writer.state : invocation.replayedState.value;
    }
    await invocation.begin(scope, id);
    const entry: SmallEntry = { kind: 'update', order: invocation.journal.nextOrder() };
    await invocation.runActive(async () => {
      try {
        await invocation.record({ entries: [[id, { ...entry, value: null }]], edit: change });
      } catch (error) {
        // Recorded, so that a replay throws too and does not apply the edit.
        throw (await recordEntry(invocation, id, { ...entry, error: toError(error) })).error;
      }
    });
    return invocation.writer.state;
  });
}

/** A version 8 UUID: https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-8 */
function toUuid(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
