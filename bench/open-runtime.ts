import { randomUUID } from 'node:crypto';
import { dynamoStorage } from '../lambda/dynamodb.ts';
import type { Agent, AgentOptions, AnyAgent } from '../lambda/index.ts';
import type { InvokeResult } from '../lambda/runtime.ts';
import { createDynamoTarget } from './systems.ts';
import type { Wire } from './wire.ts';
import { RUN } from './works.ts';

/** Puts an agent on one table and bucket, each time without cached state, as in a new process. */
export type OpenAgent = <I, S, R>(agent: Agent<I, S, R>, options?: AgentOptions) => Agent<I, S, R>;

/** Creates a table and a bucket for the runtime. READY runs are not delivered: on AWS, the table's stream does that. */
export async function openRuntime(wire: Wire): Promise<OpenAgent> {
  const { writer, ...target } = await createDynamoTarget(wire);
  return (agent, options = {}) => agent.with({ storage: dynamoStorage(target), writer, log: () => {}, ...options });
}

const FUNCTION_MS = 15 * 60_000;

/** Invokes an agent once; throws unless the invocation ends as expected. */
export async function invoke(agent: AnyAgent, expected: InvokeResult['end'], run = RUN): Promise<void> {
  const until = agent.runtime.clock.now() + FUNCTION_MS;
  const outcome = await agent.invoke({ run }, { by: randomUUID(), until });
  if (outcome.end === 'failed') throw outcome.error;
  if (outcome.end !== expected || (outcome.end === 'finished' && outcome.status !== 'SUCCEEDED'))
    throw new Error(`Expected run "${run}" to be ${expected}; found ${JSON.stringify(outcome)}.`);
}
