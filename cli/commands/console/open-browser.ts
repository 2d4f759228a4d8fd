import { spawn } from 'node:child_process';
import { createTicket } from '../../dev/server/ticket.ts';
import type { Terminal } from '../../terminal/terminal.ts';

const OPEN_COMMANDS: { readonly [platform: string]: readonly string[] } = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/**
 * Opens a server of this machine in a browser where somebody sits at it; where that fails, they have seen the URL. The
 * key does not go to the browser by its arguments, which others can read.
 */
export function openBrowser(keyedUrl: string, { ask, environment }: Terminal): void {
  if (!ask || environment.SSH_CONNECTION || environment.CI) return;
  const [program = 'xdg-open', ...args] = OPEN_COMMANDS[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...args, withTicket(keyedUrl)], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}

/** The same URL with what lets in once in the place of the key. */
export function withTicket(keyedUrl: string): string {
  const url = new URL(keyedUrl);
  url.search = new URLSearchParams({ ticket: createTicket(url.searchParams.get('key') ?? '') }).toString();
  return url.href;
}
