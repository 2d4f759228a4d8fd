import { once } from 'node:events';
import { WaitstateError } from '../../lambda/core/errors.ts';
import { CommandError } from '../command-error.ts';
import type { CommonOptions, Session } from '../session.ts';
import { resolveTarget } from '../target/resolve-target.ts';
import type { AwsTarget, FolderTarget } from '../target/target.ts';
import { bold, dim, styled } from '../terminal/line.ts';
import { shellQuote } from '../terminal/shell-quote.ts';
import { openBrowser } from './console/open-browser.ts';
import { printResult } from './output/print-result.ts';

export interface ConsoleOptions extends CommonOptions {
  /** Whether to open a browser. */
  readonly open: boolean;
  readonly port?: number;
}

/** Opens the console of the local server on a folder, or of a stack through a proxy that signs requests. */
export async function openConsole(session: Session, options: ConsoleOptions): Promise<void> {
  const { terminal, targetOptions } = session;
  const target = await resolveTarget(targetOptions, terminal.environment);
  if (target.kind === 'folder') return openLocal(session, target, options);
  await openDeployed(session, target, options);
}

async function openLocal(session: Session, { folder }: FolderTarget, { open, port }: ConsoleOptions): Promise<void> {
  if (port !== undefined)
    throw new WaitstateError(
      'INVALID_INPUT',
      '--port is the port of the proxy to a stack. Choose a stack with --stack.',
    );
  const { findRunningServer } = await import('../dev/server/server-file.ts');
  const server = await findRunningServer(folder);
  if (!server)
    throw new CommandError(
      'NO_SERVER',
      `No server is running on the folder ${folder}. Start one with "waitstate dev${folder === '.waitstate' ? '' : ` --folder ${shellQuote(folder)}`} AGENT-FILES".`,
    );
  const url = new URL(`/?key=${server.key}`, server.url).href;
  await printResult(session, { url, pid: server.pid }, () => [[styled('green', '✓ '), bold(url)]]);
  if (open) openBrowser(url, session.terminal);
}

async function openDeployed(session: Session, target: AwsTarget, { open, port }: ConsoleOptions): Promise<void> {
  const { stack, apiUrl } = target;
  if (apiUrl === undefined)
    throw new WaitstateError(
      'STORAGE_MISSING',
      stack === undefined
        ? 'The console needs the API of a stack, but the environment names only a table and a bucket. Choose the stack with --stack.'
        : `Stack "${stack}" was deployed without an API, which the console needs. Commands such as "waitstate runs --stack ${shellQuote(stack)}" work without it.`,
    );
  const { startProxy } = await import('./console/signing-proxy.ts');
  const proxy = await startProxy({ apiUrl, port, tenant: session.targetOptions.tenant ?? 'default' });
  await printResult(session, { url: proxy.url, apiUrl }, () => [
    [styled('green', '✓ '), bold(proxy.url)],
    dim(`  Proxy to ${apiUrl} with your AWS credentials. Press Ctrl-C to stop it.`),
  ]);
  if (open) openBrowser(proxy.url, session.terminal);
  try {
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  } finally {
    await proxy.close();
  }
}
