import { escapeId, partitionOf } from '../core/ids.ts';
import type { Context, RunContext } from './context.ts';
import type { Contexts } from './contexts.ts';
import { ANY_TYPE } from './document/unknown-instance.ts';

/** A run of any tenant; its state comes as it was saved, whatever its schema. */
export const runAt = (context: Context, tenant: string, run: string): RunContext => ({
  ...context,
  ...{ tenant, run, partition: partitionOf(tenant, run), ladder: undefined },
});

/** The same contexts for another tenant. */
export function contextsFor(contexts: Contexts, tenant: string): Contexts {
  escapeId('tenant', tenant);
  return {
    ...contexts,
    tenant,
    context: async () => ({ ...(await contexts.context()), tenant }),
    inRun: async (run) => runAt(await contexts.context(), tenant, run),
  };
}

/** The same contexts for those who have no code of agents: no migrations, and any class is kept as it is. */
export function withoutCode(contexts: Contexts): Contexts {
  const bare = <C extends Context>(context: C): C => ({
    ...context,
    ladder: undefined,
    types: { ...context.types, ...ANY_TYPE },
  });
  return {
    ...contexts,
    context: async () => bare(await contexts.context()),
    inRun: async (run) => bare(await contexts.inRun(run)),
  };
}
