import { enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { dim, type Line } from '../terminal/line.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { shortPath } from './log/dev-log.ts';
import { addressLines, agentLines, pendingApprovalLines } from './log/welcome.ts';
import type { LocalServer } from './server/serve.ts';
import { makeServerFolder } from './server/server-file.ts';

export interface DevOptions {
  readonly folder?: string;
  readonly port?: number;
  readonly tenant?: string;
  /** Commands that run agents in other languages. */
  readonly exec?: readonly string[];
  /** Whether files are reloaded when they change. @default true */
  readonly watch?: boolean;
  /** How many agent processes run at the same time. */
  readonly concurrency?: number;
  /** Whether to open the console in a browser. @default false */
  readonly open?: boolean;
}

/** `waitstate dev`: serves until Ctrl-C, then lets running processes finish; a second Ctrl-C exits immediately. */
export async function dev(terminal: Terminal, files: readonly string[], options: DevOptions): Promise<ExitCode> {
  const {
    folder = terminal.environment.WAITSTATE_FOLDER || '.waitstate',
    open = false,
    exec: commands = [],
    ...rest
  } = options;
  const interrupted = onInterrupt();
  try {
    // The compile cache makes starts faster.
    await makeServerFolder(folder);
    enableCompileCache(join(folder, 'code'));
    const { serve } = await import('./server/serve.ts');
    const served = Promise.withResolvers<LocalServer>();
    const onAgentsLoaded = async () => printWelcome(terminal, await served.promise, files, options);
    const server = await serve({ ...rest, files, commands, folder, print: terminal.print, onAgentsLoaded });
    interrupted.twice = () => {
      server.kill();
      process.exit(EXIT.ok);
    };
    terminal.print(...addressLines(server, shortPath));
    if (open) (await import('../commands/console/open-browser.ts')).openBrowser(server.keyedUrl, terminal);
    try {
      served.resolve(server);
      const ready = server.ready.then(() => flushCompileCache());
      // A failed start ends the command.
      await Promise.race([interrupted.once, ready.then(() => interrupted.once)]);
      terminal.print('', ...stoppingLines(server.runningCount));
    } finally {
      await server.stop();
    }
    terminal.print(dim('Stopped. Runs resume at the next start.'));
    return EXIT.ok;
  } finally {
    interrupted.end();
  }
}

/** Prints the agents and the pending approvals, before runs are logged. */
async function printWelcome(
  { print }: Terminal,
  server: LocalServer,
  files: readonly string[],
  { watch = true, exec = [] }: DevOptions,
): Promise<void> {
  const open = await server.countPendingApprovals();
  print(
    ...agentLines(server, { hasFiles: files.length + exec.length > 0, isWatching: watch }),
    ...pendingApprovalLines(server.url, open),
    '',
  );
}

/** The lines while running processes may still finish. */
const stoppingLines = (count: number): readonly Line[] =>
  count === 0
    ? []
    : [
        dim(
          `Stopping; waiting for ${count === 1 ? '1 run' : `${count} runs`}. Press Ctrl-C again to stop immediately.`,
        ),
      ];

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Handles Ctrl-C and the other signals that end a program. */
function onInterrupt(): { readonly once: Promise<void>; twice: () => void; end(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let times = 0;
  const onSignal = () => {
    times += 1;
    if (times === 1) resolve();
    else interrupted.twice();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  const interrupted = {
    once: promise,
    twice: () => process.exit(EXIT.ok),
    end: () => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
  return interrupted;
}
