import { WaitstateError } from '../core/errors.ts';
import { ENVIRONMENT } from '../environment/names.ts';
import type { Delivery } from '../runtime/runtime.ts';
import { errorFields, type Telemetry } from '../runtime/telemetry.ts';
import { type Agents, agentFor } from './agents.ts';
import { type HydrateOptions, hydrate } from './hydrate.ts';
import { reportClockDifference } from './report-clock-difference.ts';

/** The dependencies of `deliverRun`. */
export interface DeliveryOptions extends HydrateOptions {
  readonly agents: Agents;
  readonly telemetry: Telemetry;
}

/**
 * Invokes the agent of a run. Throws AGENT_NOT_FOUND if the tenant has no agent of this name, and the errors of Lambda;
 * the sweeper then delivers the run later.
 */
export async function deliverRun(options: DeliveryOptions, { tenant, run, agent = '' }: Delivery): Promise<void> {
  const { agents, functions, telemetry } = options;
  const target = agentFor(agents, tenant, agent);
  // Workers claim the run.
  if (target && 'worker' in target) return;
  try {
    if (!target) throw agentNotFound(tenant, agent);
    if (target.hydrate) {
      await hydrate(options, { tenant, run, agent, function: target.function });
      await reportClockDifference(options);
    } else await functions.invokeAsync(target.function, { run, tenant });
    telemetry.count('Delivered');
  } catch (error) {
    telemetry.count(target ? 'DeliveryFailed' : 'UnknownAgent');
    telemetry.log('error', 'A run could not be delivered. The sweeper retries later.', {
      tenant,
      run,
      agent,
      function: target?.function,
      ...errorFields(error),
    });
    throw error;
  }
}

const agentNotFound = (tenant: string, agent: string): WaitstateError =>
  new WaitstateError(
    'AGENT_NOT_FOUND',
    `Agent "${agent}" has no function for tenant "${tenant}". Add it to ${ENVIRONMENT.agents} and deploy again.`,
  );
