import type { LambdaClient } from '@aws-sdk/client-lambda';
import { WaitstateError } from '../core/errors.ts';
import { importOptionalPeer } from '../storage/aws/import-optional-peer.ts';

/** The Lambda functions of agents. */
export interface AgentFunctions {
  /** Invokes a function asynchronously; resolves once Lambda has accepted the event. */
  invokeAsync(name: string, event: object): Promise<void>;
  /** Invokes a function and waits until it returns. Throws STEP_FAILED if it fails, TIMED_OUT if it takes too long. */
  invokeAndWait(name: string, event: object): Promise<void>;
}

// Synchronous calls only send notifications, and other runs wait until the caller continues.
const CALL_TIMEOUT_SECONDS = 20;

/** Functions in AWS Lambda. Without a client, one is created at the first call. */
export function lambdaFunctions(
  client?: Pick<LambdaClient, 'send'>,
  callTimeoutSeconds = CALL_TIMEOUT_SECONDS,
): AgentFunctions {
  let lambda = client;
  const invoke = async (
    name: string,
    type: 'Event' | 'RequestResponse',
    event: object,
    abortSignal?: AbortSignal,
  ): Promise<void> => {
    const sdk = await importOptionalPeer('@aws-sdk/client-lambda', () => import('@aws-sdk/client-lambda'));
    lambda ??= new sdk.LambdaClient({});
    const Payload = Buffer.from(JSON.stringify(event));
    const command = new sdk.InvokeCommand({ FunctionName: name, InvocationType: type, Payload });
    const response = await lambda.send(command, abortSignal && { abortSignal });
    // The payload comes from the agent and may contain personal data, so it is not part of the message.
    if (response.FunctionError)
      throw new WaitstateError('STEP_FAILED', `Function "${name}" failed. See its log for the error.`);
  };
  return {
    invokeAsync: (name, event) => invoke(name, 'Event', event),
    async invokeAndWait(name, event) {
      const timeout = AbortSignal.timeout(callTimeoutSeconds * 1_000);
      try {
        await invoke(name, 'RequestResponse', event, timeout);
      } catch (error) {
        throw timeout.aborted ? callTimedOut(name, callTimeoutSeconds) : error;
      }
    },
  };
}

const callTimedOut = (name: string, seconds: number): WaitstateError =>
  new WaitstateError(
    'TIMED_OUT',
    `Function "${name}" did not return within ${seconds} seconds. Move longer work to a run or another function.`,
  );
