import type { LambdaClient } from '@aws-sdk/client-lambda';
import { HoldpointError } from '../core/errors.ts';
import { installed } from '../storage/installed.ts';

/** The Lambda functions of agents. */
export interface AgentFunctions {
  /** Invokes a function and does not wait for it; resolves when Lambda has taken the event. */
  start(name: string, event: object): Promise<void>;
  /** Invokes a function and waits until it has returned; throws when it failed. */
  call(name: string, event: object): Promise<void>;
}

/** Functions in AWS Lambda; the client is made when first needed. */
export function lambdaFunctions(client?: Pick<LambdaClient, 'send'>): AgentFunctions {
  let made = client;
  const invoke = async (name: string, type: 'Event' | 'RequestResponse', event: object): Promise<void> => {
    const sdk = await installed('@aws-sdk/client-lambda', () => import('@aws-sdk/client-lambda'));
    made ??= new sdk.LambdaClient({});
    const Payload = Buffer.from(JSON.stringify(event));
    const answer = await made.send(new sdk.InvokeCommand({ FunctionName: name, InvocationType: type, Payload }));
    // What it answered is the agent's, and may be about anybody.
    if (answer.FunctionError)
      throw new HoldpointError('STEP_FAILED', `Function "${name}" ended in an error. Its own log says which.`);
  };
  return {
    start: (name, event) => invoke(name, 'Event', event),
    call: (name, event) => invoke(name, 'RequestResponse', event),
  };
}
