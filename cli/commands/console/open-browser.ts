import { spawn } from 'node:child_process';
import type { Terminal } from '../../terminal/terminal.ts';

const OPENERS: { readonly [platform: string]: readonly string[] } = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Opens a URL in a browser where somebody sits at this machine; where that fails, they have seen the URL. */
export function openBrowser(url: string, { ask, environment }: Terminal): void {
  if (!ask || environment.SSH_CONNECTION || environment.CI) return;
  const [program = 'xdg-open', ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
