import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What is run: the code of a function from the assembly, and all of its environment. */
export interface Program {
  readonly folder: string;
  /** Such as `index.handler`. */
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
  readonly traceId: string;
}

/** How an invocation went: what it returned, or the error that it threw. */
export interface Answered {
  readonly result?: unknown;
  readonly error?: { readonly errorType: string; readonly errorMessage: string; readonly code?: string };
  readonly cpuSeconds: number;
  /** The most memory that the process has had until then. */
  readonly peakMB: number;
  /** The variables of ours in its environment that it has read until then. */
  readonly read: readonly string[];
}

/** A function in a Node process of its own; each call of `invoke` after the first is warm. */
export interface Sandbox {
  invoke(event: unknown, context: InvocationContext, aheadMs?: number): Promise<Answered>;
  /** Ends the process, and gives the lines that it wrote. */
  end(): Promise<readonly string[]>;
}

const RUNNER = fileURLToPath(new URL('./runner.mjs', import.meta.url));

/** Starts a process for a function, with this environment and nothing of ours. */
export function openSandbox({ folder, handler, environment, timeoutSeconds }: Program): Sandbox {
  const [module = '', name = ''] = handler.split('.');
  const file = ['.js', '.mjs', '.cjs'].map((end) => join(folder, module + end)).find(existsSync);
  if (file === undefined) throw new Error(`Handler ${handler} is not in the code of the function.`);
  const child = fork(RUNNER, { cwd: folder, env: environment, execArgv: [], stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  const said = { out: '', error: '' };
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    said.out += piece;
  });
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    said.error += piece;
  });
  // Not `close` of the child, which one that was disconnected does not always tell.
  const exited: Promise<(number | string | null)[]> = once(child, 'exit');
  const closed = Promise.all([exited, ...[child.stdout, child.stderr].map((each) => each && once(each, 'close'))]);
  return {
    async invoke(event, context, aheadMs = 0) {
      child.send({ file, name, event, context, aheadMs, deadline: timeoutSeconds * 1000 });
      const late = setTimeout(() => child.kill('SIGKILL'), timeoutSeconds * 1000);
      try {
        return await Promise.race([
          once(child, 'message').then(([answered]) => answered as Answered),
          closed.then(([[code, signal]]) => ({
            error: { errorType: 'Runtime.ExitError', errorMessage: `ended with ${code ?? signal}: ${said.error}` },
            ...{ cpuSeconds: 0, peakMB: 0, read: [] },
          })),
        ]);
      } finally {
        clearTimeout(late);
      }
    },
    async end() {
      if (child.connected) child.disconnect();
      await closed;
      return `${said.out}\n${said.error}`.split('\n').filter(Boolean);
    },
  };
}
