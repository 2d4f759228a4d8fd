import { invalidInput } from '../../core/invalid-input.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { Clock } from '../clock.ts';

/** What of the context of a Lambda invocation is needed. */
export interface LambdaContext {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/** What an agent's function is invoked with. */
export interface AgentEvent {
  readonly run: string;
  readonly tenant?: string;
  /** To tell people of this approval instead of running the agent. */
  readonly notify?: string;
}

/** The Lambda function of an agent. */
export type AgentHandler = (event: unknown, context: LambdaContext) => Promise<unknown>;

/** The part of an agent that its Lambda function calls. */
interface InvocableAgent {
  readonly name: string;
  readonly runtime: { readonly clock: Clock };
  invoke(
    delivery: { readonly run: string; readonly tenant?: string },
    claimant: { readonly by: string; readonly until: number },
  ): Promise<{ readonly end: string; readonly error?: unknown }>;
  notify(delivery: { readonly run: string; readonly tenant?: string }, approval: string): Promise<unknown>;
}

// Time for the last write and its answer, before the function is stopped.
const MARGIN_MS = 500;

/** Runs the run that an event names; throws when the invocation is to be tried again. */
export const lambdaHandler =
  (agent: InvocableAgent): AgentHandler =>
  async (event, context) => {
    const { run, tenant, notify } = Object(event) as Partial<AgentEvent>;
    if (typeof run !== 'string') throw invalidInput(`The event of agent "${agent.name}"`, '{ run, tenant }', event);
    const delivery = { run, ...omitUndefined({ tenant }) };
    if (notify !== undefined) return agent.notify(delivery, notify);
    const until = agent.runtime.clock.now() + context.getRemainingTimeInMillis() - MARGIN_MS;
    const outcome = await agent.invoke(delivery, { by: context.awsRequestId, until });
    if (outcome.end === 'failed') throw outcome.error;
    return outcome;
  };
