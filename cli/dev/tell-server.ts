import { Worker } from 'node:worker_threads';
import type { Told } from './messages.ts';

/** Tells the server something; resolves when it is on its way. */
export const tellServer = (told: Told): Promise<void> =>
  new Promise((resolve) => {
    if (!process.connected) return resolve();
    process.send?.(told, undefined, undefined, () => resolve());
  });

/** The pipe that the server holds for as long as it lives. */
const LIFELINE = 3;
const ALIVE_MS = 1_000;

// In a thread of its own: the agent may keep the other one busy for ever.
const WATCH = `
  const { Socket } = require('node:net');
  const end = () => process.kill(process.pid, 'SIGKILL');
  new Socket({ fd: ${LIFELINE}, readable: true, writable: false }).on('error', end).on('close', end).resume();
`;

/** Ends this process with its server, however that ends, and tells the server that it is not stuck. */
export function belongToServer(): void {
  process.on('disconnect', () => process.exit(1));
  // Who stops the server by Ctrl-C stops this process by the server.
  process.on('SIGINT', () => {});
  setInterval(() => void tellServer({ tell: 'alive' }), ALIVE_MS).unref();
  if (process.platform !== 'win32') new Worker(WATCH, { eval: true }).unref();
}
