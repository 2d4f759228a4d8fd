import { WaitstateError } from '../core/errors.ts';
import { ENVIRONMENT } from '../environment/names.ts';
import type { Delivery } from '../runtime/runtime.ts';
import { errorFields, type Observing } from '../runtime/telemetry.ts';
import { type Agents, agentIn } from './agents.ts';
import { type Hydrating, hydrate } from './hydrate.ts';

/** What it takes to bring runs to the functions of their agents. */
export interface Delivering extends Hydrating {
  readonly agents: Agents;
  readonly observing: Observing;
}

/**
 * Has a run's agent invoked. Throws AGENT_NOT_FOUND when no agent of this name gets the runs of the tenant, and what Lambda throws; the run is then
 * left to the sweeper.
 */
export async function deliverRun(delivering: Delivering, { tenant, run, agent = '' }: Delivery): Promise<void> {
  const { agents, functions, observing } = delivering;
  const to = agentIn(agents, tenant, agent);
  try {
    if (!to) throw agentNotFound(tenant, agent);
    if (to.hydrate) await hydrate(delivering, { tenant, run, agent, function: to.function });
    else await functions.start(to.function, { run, tenant });
    observing.count('Delivered');
  } catch (error) {
    observing.count(to ? 'DeliveryFailed' : 'UnknownAgent');
    observing.log('error', 'A run could not be delivered; the sweeper will try again.', {
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
