import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Program, Sandbox } from '../infra/deployed/lambda-process.ts';
import { openRuntimeApi, type Report } from './runtime-api.ts';

const CLIENT = fileURLToPath(new URL('./node_modules/aws-lambda-ric/index.mjs', import.meta.url));
const PRELOAD = new URL('./preload.mjs', import.meta.url).href;

// Lambda sends a trace id also for functions that are not traced.
const TRACE_ID = 'Root=1-67891233-abcdef012345678912345678;Sampled=0';

/** Runs a function with AWS's runtime interface client, which loads and calls it as in Lambda. Every start is cold. */
export const openRuntimeSandbox = ({ folder, environment, timeoutSeconds }: Program): Sandbox => ({
  async invoke(event, { awsRequestId, invokedFunctionArn }, aheadMs = 0) {
    const api = await openRuntimeApi();
    const child = spawn(process.execPath, ['--import', PRELOAD, CLIENT], {
      cwd: folder,
      env: {
        ...environment,
        LAMBDA_TASK_ROOT: folder,
        AWS_LAMBDA_RUNTIME_API: api.address,
        TEST_AHEAD_MS: String(aheadMs),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutSeconds * 1000,
      killSignal: 'SIGKILL',
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (piece: string) => {
        output += piece;
      });
    const closed = once(child, 'close').then(([code, signal]): Report => {
      const errorMessage = `ended with ${code ?? signal}: ${output}`;
      return { kind: 'error', headers: {}, body: { errorType: 'Runtime.ExitError', errorMessage } };
    });
    const deadline = Date.now() + aheadMs + timeoutSeconds * 1000;
    const invocation = { requestId: awsRequestId, deadline, arn: invokedFunctionArn, traceId: TRACE_ID, event };
    const report = await Promise.race([api.invoke(invocation), closed]);
    child.kill();
    await closed;
    api.close();
    return { ...toOutcome(report), cpuSeconds: 0, peakMB: 0, read: [], lines: output.split('\n').filter(Boolean) };
  },
  isAlive: () => false,
  end: async () => {},
});

function toOutcome({ kind, headers, body }: Report) {
  if (headers['lambda-runtime-function-response-mode'] === 'streaming')
    throw new Error('The function streamed its response, which the HTTP APIs of the deployment do not support.');
  return kind === 'response'
    ? { result: body }
    : { error: body as { readonly errorType: string; readonly errorMessage: string } };
}
