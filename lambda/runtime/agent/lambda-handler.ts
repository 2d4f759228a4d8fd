import { invalidInput } from '../../core/invalid-input.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { Clock } from '../clock.ts';

/** The part of the Lambda context that the handler reads. */
export interface LambdaContext {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/** The event that an agent's Lambda function is invoked with. */
export interface AgentEvent {
  readonly run: string;
  readonly tenant?: string;
  /** The id of an approval: notifies its approvers instead of running the agent. */
  readonly notify?: string;
}

/** The Lambda handler of an agent. */
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

/** How long before Lambda stops the function an invocation has to end, to leave time for its last write. */
export const SHUTDOWN_MARGIN_MS = 500;

/** Invokes the agent for the run that the event names; throws when Lambda should retry the invocation. */
export const lambdaHandler =
  (agent: InvocableAgent): AgentHandler =>
  async (event, context) => {
    const { run, tenant, notify } = Object(event) as Partial<AgentEvent>;
    if (typeof run !== 'string') throw invalidInput(`The event of agent "${agent.name}"`, '{ run, tenant }', event);
    const delivery = { run, ...omitUndefined({ tenant }) };
    if (notify !== undefined) return agent.notify(delivery, notify);
    const until = agent.runtime.clock.now() + context.getRemainingTimeInMillis() - SHUTDOWN_MARGIN_MS;
    const outcome = await agent.invoke(delivery, { by: context.awsRequestId, until });
    if (outcome.end === 'failed') throw outcome.error;
    return outcome;
  };
