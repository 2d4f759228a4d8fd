import { randomUUID } from 'node:crypto';
import { dynamoStorage } from '../lambda/dynamodb.ts';
import type { Agent, AgentOptions, AnyAgent, InvokeResult } from '../lambda/index.ts';
import { createDynamoTarget } from './systems.ts';
import type { Wire } from './wire.ts';
import { RUN } from './works.ts';

/** Opens an agent on one table and bucket; each time it knows nothing yet, as in a new process. */
export type OpenAgent = <I, S, R>(agent: Agent<I, S, R>, place?: AgentOptions) => Agent<I, S, R>;

/** The runtime on a fresh table and bucket. Nobody delivers, as on AWS, where the table's stream does. */
export async function openRuntime(wire: Wire): Promise<OpenAgent> {
  const { writer, ...place } = await createDynamoTarget(wire);
  return (agent, more = {}) => agent.with({ storage: dynamoStorage(place), writer, log: () => {}, ...more });
}

const FUNCTION_MS = 15 * 60_000;

/** One invocation of an agent's function, which must come to the end that is expected. */
export async function invoke(agent: AnyAgent, expected: InvokeResult['end'], run = RUN): Promise<void> {
  const until = agent.runtime.clock.now() + FUNCTION_MS;
  const outcome = await agent.invoke({ run }, { by: randomUUID(), until });
  if (outcome.end === 'failed') throw outcome.error;
  if (outcome.end !== expected || (outcome.end === 'finished' && outcome.status !== 'SUCCEEDED'))
    throw new Error(`Run "${run}" should be ${expected}; found ${JSON.stringify(outcome)}.`);
}
