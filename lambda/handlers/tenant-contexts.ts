import type { Context, RunContext } from '../checkpoints/context.ts';
import type { Contexts } from '../checkpoints/contexts.ts';
import { escapeId, partitionOf } from '../core/ids.ts';

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
