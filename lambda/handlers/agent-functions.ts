import type { LambdaClient } from '@aws-sdk/client-lambda';
import { WaitstateError } from '../core/errors.ts';
import { importOptionalPeer } from '../storage/aws/import-optional-peer.ts';

/** The Lambda functions of agents. */
export interface AgentFunctions {
  /** Invokes a function and does not wait for it; resolves when Lambda has taken the event. */
  invokeAsync(name: string, event: object): Promise<void>;
  /** Invokes a function and waits until it has returned; throws when it failed, or took longer than it may. */
  invokeAndWait(name: string, event: object): Promise<void>;
}

// What is waited for is short, such as a message to people; who waits has the runs of others to look after.
const CALL_SECONDS = 20;

/** Functions in AWS Lambda; the client is made when first needed. `callSeconds` is how long a call is waited for. */
export function lambdaFunctions(client?: Pick<LambdaClient, 'send'>, callSeconds = CALL_SECONDS): AgentFunctions {
  let made = client;
  const invoke = async (
    name: string,
    type: 'Event' | 'RequestResponse',
    event: object,
    abortSignal?: AbortSignal,
  ): Promise<void> => {
    const sdk = await importOptionalPeer('@aws-sdk/client-lambda', () => import('@aws-sdk/client-lambda'));
    made ??= new sdk.LambdaClient({});
    const Payload = Buffer.from(JSON.stringify(event));
    const command = new sdk.InvokeCommand({ FunctionName: name, InvocationType: type, Payload });
    const answer = await made.send(command, abortSignal && { abortSignal });
    // What it answered is the agent's, and may be about anybody.
    if (answer.FunctionError)
      throw new WaitstateError('STEP_FAILED', `Function "${name}" ended in an error. Its own log says which.`);
  };
  return {
    invokeAsync: (name, event) => invoke(name, 'Event', event),
    async invokeAndWait(name, event) {
      const limit = AbortSignal.timeout(callSeconds * 1_000);
      try {
        await invoke(name, 'RequestResponse', event, limit);
      } catch (error) {
        throw limit.aborted ? tooLong(name, callSeconds) : error;
      }
    },
  };
}

const tooLong = (name: string, seconds: number): WaitstateError =>
  new WaitstateError(
    'TIMED_OUT',
    `Function "${name}" did not return within ${seconds} seconds. Have it do what takes longer in a run or elsewhere.`,
  );
