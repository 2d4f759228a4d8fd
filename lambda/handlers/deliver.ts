import { WaitstateError } from '../core/errors.ts';
import { ENVIRONMENT } from '../environment/names.ts';
import type { Delivery } from '../runtime/runtime.ts';
import { errorFields, type Telemetry } from '../runtime/telemetry.ts';
import { type Agents, agentFunctionFor } from './agents.ts';
import { type HydrateOptions, hydrate } from './hydrate.ts';

/** What it takes to bring runs to the functions of their agents. */
export interface DeliveryOptions extends HydrateOptions {
  readonly agents: Agents;
  readonly telemetry: Telemetry;
}

/**
 * Has a run's agent invoked. Throws AGENT_NOT_FOUND when no agent of this name gets the runs of the tenant, and what Lambda throws; the run is then
 * left to the sweeper.
 */
export async function deliverRun(delivering: DeliveryOptions, { tenant, run, agent = '' }: Delivery): Promise<void> {
  const { agents, functions, telemetry } = delivering;
  const to = agentFunctionFor(agents, tenant, agent);
  try {
    if (!to) throw agentNotFound(tenant, agent);
    if (to.hydrate) await hydrate(delivering, { tenant, run, agent, function: to.function });
    else await functions.invokeAsync(to.function, { run, tenant });
    telemetry.count('Delivered');
  } catch (error) {
    telemetry.count(to ? 'DeliveryFailed' : 'UnknownAgent');
    telemetry.log('error', 'A run could not be delivered; the sweeper will try again.', {
      ...{ tenant, run, agent, function: to?.function },
      ...errorFields(error),
    });
    throw error;
  }
}

const agentNotFound = (tenant: string, agent: string): WaitstateError =>
  new WaitstateError(
    'AGENT_NOT_FOUND',
    `No function of agent "${agent}" for tenant "${tenant}" is known here. Name it in ${ENVIRONMENT.agents}, and deploy.`,
  );
