import { escapeId, toPartition } from '../core/ids.ts';
import type { Context, RunContext } from './context.ts';
import type { ContextFactory } from './context-factory.ts';
import { ANY_TYPE } from './document/unknown-instance.ts';

/** The context of a run of any tenant, without migrations: states load as they were saved. */
export const toRunContext = (context: Context, tenant: string, run: string): RunContext => ({
  ...context,
  tenant,
  run,
  partition: toPartition(tenant, run),
  migrator: undefined,
});

/** The same context factory for another tenant. */
export function withTenant(contexts: ContextFactory, tenant: string): ContextFactory {
  escapeId('tenant', tenant);
  return {
    ...contexts,
    tenant,
    forTenant: async () => ({ ...(await contexts.forTenant()), tenant }),
    forRun: async (run) => toRunContext(await contexts.forTenant(), tenant, run),
  };
}

/**
 * The same context factory for callers without the agents' code: no migrations, and instances of any class are kept.
 */
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
