import { escapeId, toPartition } from '../core/ids.ts';
import type { Context, RunContext } from './context.ts';
import type { ContextFactory } from './context-factory.ts';
import { ANY_TYPE } from './document/unknown-instance.ts';

/** A run of any tenant; its state comes as it was saved, whatever its schema. */
export const toRunContext = (context: Context, tenant: string, run: string): RunContext => ({
  ...context,
  ...{ tenant, run, partition: toPartition(tenant, run), migrator: undefined },
});

/** The same contexts for another tenant. */
export function withTenant(contexts: ContextFactory, tenant: string): ContextFactory {
  escapeId('tenant', tenant);
  return {
    ...contexts,
    tenant,
    forTenant: async () => ({ ...(await contexts.forTenant()), tenant }),
    forRun: async (run) => toRunContext(await contexts.forTenant(), tenant, run),
  };
}

/** The same contexts for those who have no code of agents: no migrations, and any class is kept as it is. */
export function withoutAgentCode(contexts: ContextFactory): ContextFactory {
  const withoutTypes = <C extends Context>(context: C): C => ({
    ...context,
    migrator: undefined,
    types: { ...context.types, ...ANY_TYPE },
  });
  return {
    ...contexts,
    forTenant: async () => withoutTypes(await contexts.forTenant()),
    forRun: async (run) => withoutTypes(await contexts.forRun(run)),
  };
}
