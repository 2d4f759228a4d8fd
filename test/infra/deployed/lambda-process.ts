import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The code of a function in the assembly and its whole environment. */
export interface Program {
  readonly folder: string;
  /** For example `index.handler`. */
  readonly handler: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutSeconds: number;
}

interface InvocationContext {
  readonly awsRequestId: string;
  readonly functionName: string;
  readonly functionVersion: string;
  readonly invokedFunctionArn: string;
  readonly memoryLimitInMB: string;
  readonly logGroupName: string;
  readonly logStreamName: string;
}

/** The outcome of an invocation: its result or its error, and what it used. */
export interface InvocationOutcome {
  readonly result?: unknown;
  readonly error?: { readonly errorType: string; readonly errorMessage: string; readonly code?: string };
  readonly cpuSeconds: number;
  /** The peak memory of the process so far. */
  readonly peakMB: number;
  /** The Waitstate variables that it has read so far. */
  readonly read: readonly string[];
  /** Its log lines. */
  readonly lines: readonly string[];
}

/** A function in its own Node.js process; each invocation after the first is warm. */
export interface Sandbox {
  invoke(event: unknown, context: InvocationContext, aheadMs?: number): Promise<InvocationOutcome>;
  /** Whether its process can be invoked again. */
  isAlive(): boolean;
  /** Ends the process. */
  end(): Promise<void>;
}

/** Starts a process for a function with only this environment. */
export type OpenSandbox = (program: Program) => Sandbox;

const RUNNER = fileURLToPath(new URL('./runner.mjs', import.meta.url));

/** Runs functions with a small stand-in for Lambda's runtime, which also measures them. */
export function openSandbox({ folder, handler, environment, timeoutSeconds }: Program): Sandbox {
  const [module = '', name = ''] = handler.split('.');
  const file = ['.js', '.mjs', '.cjs'].map((end) => join(folder, module + end)).find(existsSync);
  if (file === undefined) throw new Error(`The code of the function has no handler ${handler}.`);
  const child = fork(RUNNER, {
    cwd: folder,
    env: environment,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  // The runner sends the log lines with each outcome, so this is only what Node.js prints when it crashes.
  let crash = '';
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    crash += piece;
  });
  // A disconnected child does not always emit `close`, so its exit and its stream are awaited.
  const exited: Promise<(number | string | null)[]> = once(child, 'exit');
  const closed = Promise.all([exited, child.stderr && once(child.stderr, 'close')]);
  return {
    async invoke(event, context, aheadMs = 0) {
      child.send({ file, name, event, context, aheadMs, deadline: timeoutSeconds * 1000 });
      const late = setTimeout(() => child.kill('SIGKILL'), timeoutSeconds * 1000);
      try {
        return await Promise.race([
          once(child, 'message').then(([outcome]) => outcome as InvocationOutcome),
          closed.then(([[code, signal]]) => ({
            error: { errorType: 'Runtime.ExitError', errorMessage: `ended with ${code ?? signal}: ${crash}` },
            cpuSeconds: 0,
            peakMB: 0,
            read: [],
            lines: crash.split('\n').filter(Boolean),
          })),
        ]);
      } finally {
        clearTimeout(late);
      }
    },
    isAlive: () => child.connected,
    async end() {
      if (child.connected) child.disconnect();
      await closed;
    },
  };
}
