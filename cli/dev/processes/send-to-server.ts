import type { ProcessMessage } from './messages.ts';

/** Tells the server something; resolves when it is on its way. */
export const sendToServer = (message: ProcessMessage): Promise<void> =>
  new Promise((resolve) => {
    if (!process.connected) return resolve();
    process.send?.(message, undefined, undefined, () => resolve());
  });

const HEARTBEAT_MS = 1_000;

/** Ends this process with its server, and tells the server every second that it is not stuck. */
export function attachToServer(): void {
  process.on('disconnect', () => process.exit(1));
  setInterval(() => void sendToServer({ tell: 'alive' }), HEARTBEAT_MS).unref();
}
