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
import type { Entry, EntryKind } from '../journal/entries.ts';
import type { Scope } from '../journal/identity.ts';
import { approval } from './approval-operation.ts';
import { branches } from './branches.ts';
import { recordEntry, step } from './step.ts';
import { tool } from './tool.ts';
import { call, sleep, waitForSignal } from './wait-operations.ts';

type Context = TurnContext<never>;

/**
 * What an agent gets for one scope of an invocation. `working` is the state of a turn while it is being worked on; it is
 * saved with the end of the turn.
 */
export function createContext(invocation: Invocation, scope: Scope, working?: EditedState): Context {
  const { at, agent } = invocation;
  const within = (inner: Scope) => createContext(invocation, inner, working) as AgentContext<never>;
  const random = (what: string): Buffer => {
    invocation.checkCall(what, scope);
    const { id, release: leave } = scope.enterUnnamed('random');
    leave();
    return createHash('sha256')
      .update(`random ${invocation.seedFor(id)}`)
      .digest();
  };
  const context: Omit<Context, 'state'> = {
    run: at.run,
    tenant: at.tenant,
    agent: agent.name,
    step: (name, run, options) => step(invocation, scope, name, run, options),
    tool: (name, args, run, options) => tool(invocation, scope, name, args, run, options),
    update: (edit) => update(invocation, scope, working, edit as never) as Promise<never>,
    approval: (name: string, options: ApprovalOptions) => approval(invocation, scope, name, options) as Promise<never>,
    sleep: (name, duration) => sleep(invocation, scope, name, duration),
    waitForSignal: (name: string, options?: object) =>
      waitForSignal(invocation, scope, name, options) as Promise<never>,
    call: (other, input, options) => call(invocation, scope, other, input, options),
    all: async (name: string, given: object, options?: object) => {
      if (typeof given !== 'object' || given === null)
        throw agentMisuse('`ctx.all` takes functions of a context, in a list or by name; found none.');
      const keys = Object.keys(given);
      const runs = Object.values(given);
      const wrong = runs.findIndex((run) => typeof run !== 'function');
      if (wrong >= 0) throw agentMisuse(`\`ctx.all\` takes functions of a context; "${keys[wrong]}" is none.`);
      const outcomes = shown(await branches(invocation, scope, within, name, runs, options), options);
      return (Array.isArray(given) ? outcomes : Object.fromEntries(keys.map((key, i) => [key, outcomes[i]]))) as never;
    },
    map: async (
      name: string,
      items: readonly unknown[],
      run: (ctx: never, item: never, i: number) => unknown,
      options?: object,
    ) => {
      if (!Array.isArray(items) || typeof run !== 'function')
        throw agentMisuse('`ctx.map` takes a list of items, and a function of a context and an item.');
      const runs = items.map((item, i) => (ctx: AgentContext<never>) => run(ctx as never, item as never, i));
      return shown(await branches(invocation, scope, within, name, runs, options), options) as never;
    },
    log: (message, fields = {}) => {
      if (invocation.isLive) invocation.runtime.log('info', message, { ...fields, run: at.run, agent: agent.name });
    },
    payload,
    now: async () => {
      const { value } = await small(invocation, scope, 'now', 'now', async () => ({ value: invocation.now }));
      return new Date(value as number);
    },
    random: () => random('ctx.random').readUIntBE(0, 6) / 2 ** 48,
    uuid: () => uuidOf(random('ctx.uuid')),
    checkpoint: async (name) => {
      await small(invocation, scope, 'checkpoint', 'checkpoint', async () => ({ value: name, item: { name } }));
    },
    done: (result) => new Done(result),
  };
  return Object.defineProperty(withoutLoss(context), 'state', {
    enumerable: true,
    get: () => (working ? working.value : invocation.isLive ? invocation.writer.state : invocation.replayedState.value),
  }) as Context;
}

/** What nobody awaits must not end the process when it fails: it is recorded, and who awaits it still gets the error. */
const withoutLoss = <C extends object>(context: C): C =>
  Object.fromEntries(
    Object.entries(context).map(([name, value]) => {
      if (typeof value !== 'function') return [name, value];
      const call = (...args: readonly unknown[]): unknown => {
        const made: unknown = value(...args);
        if (made instanceof Promise) made.catch(() => {});
        return made;
      };
      return [name, call];
    }),
  ) as C;

/** With `enough`, how each branch ended; otherwise what each gave. */
const shown = (outcomes: readonly BranchOutcome<unknown>[], options: { readonly enough?: number } = {}): unknown[] =>
  outcomes.map((outcome) =>
    options.enough === undefined ? (outcome.status === 'fulfilled' ? outcome.value : undefined) : outcome,
  );

/** A value that is recorded when it is first made. */
async function small(
  invocation: Invocation,
  scope: Scope,
  kind: EntryKind,
  name: string,
  make: () => Promise<{ readonly value: unknown; readonly item?: BatchItem }>,
): Promise<Entry> {
  invocation.checkCall(`ctx.${name}`, scope);
  const identity = scope.enterUnnamed(name);
  return invocation.runOperation(identity, async () => {
    const { id } = identity;
    const there = invocation.journal.get(id);
    if (there) invocation.checkEntry(id, there, kind, undefined);
    if (there) return there;
    await invocation.begin(scope, id);
    const { value, item } = await make();
    await invocation.runActive(() => invocation.record({ ...item, entries: [[id, { kind, value }]] }));
    return invocation.journal.entry(id);
  });
}

/**
 * `ctx.update`. In a turn it changes the working state. Otherwise it is recorded with the new state; a replay makes the
 * same edits on the way, so that the agent sees at each point the state of that point.
 */
async function update(
  invocation: Invocation,
  scope: Scope,
  working: EditedState | undefined,
  edit: (draft: never) => unknown,
): Promise<unknown> {
  invocation.checkCall('ctx.update', scope);
  if (!invocation.agent.state) throw agentMisuse('`ctx.update` needs a state: give the agent `state: { initial }`.');
  if (typeof edit !== 'function') throw agentMisuse(`\`ctx.update\` needs a function; found ${typeof edit}.`);
  const change = (state: unknown) =>
    invocation.inStep.run('`ctx.update`', () => applyEdit(state, edit as never, undefined));
  if (working) {
    await working.edit(change);
    return working.value;
  }
  const identity = scope.enterUnnamed('update');
  return invocation.runOperation(identity, async () => {
    const { id } = identity;
    const there = invocation.journal.get(id);
    if (there) {
      invocation.checkEntry(id, there, 'update', undefined);
      if (Object.hasOwn(there, 'error')) throw there.error;
      await invocation.replayedState.edit(change, there.order);
      return invocation.isLive ? invocation.writer.state : invocation.replayedState.value;
    }
    await invocation.begin(scope, id);
    const entry: Entry = { kind: 'update', order: invocation.journal.nextOrder() };
    await invocation.runActive(async () => {
      try {
        await invocation.record({ entries: [[id, { ...entry, value: null }]], edit: change });
      } catch (error) {
        // Also a replay does not make it.
        throw (await recordEntry(invocation, id, { ...entry, error: toError(error) })).error;
      }
    });
    return invocation.writer.state;
  });
}

/** A version 8 UUID: https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-8 */
function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
