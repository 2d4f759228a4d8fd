import { spawn } from 'node:child_process';
import { createTicket } from '../../dev/server/ticket.ts';
import type { Terminal } from '../../terminal/terminal.ts';

const OPEN_COMMANDS: { readonly [platform: string]: readonly string[] } = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/**
 * Opens the local server in a browser, if the command runs on a desktop. If that fails, the URL is already printed. The
 * browser gets a ticket instead of the key, because other users can read the arguments of a process.
 */
export function openBrowser(keyedUrl: string, { ask, environment }: Terminal): void {
  if (!ask || environment.SSH_CONNECTION || environment.CI) return;
  const [program = 'xdg-open', ...args] = OPEN_COMMANDS[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...args, withTicket(keyedUrl)], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}

/** Replaces the key in a URL with a ticket that works once. */
export function withTicket(keyedUrl: string): string {
  const url = new URL(keyedUrl);
  url.search = new URLSearchParams({ ticket: createTicket(url.searchParams.get('key') ?? '') }).toString();
  return url.href;
}
