import type { ProcessMessage } from './messages.ts';

/** Sends a message to the server; resolves when it is sent. */
export const sendToServer = (message: ProcessMessage): Promise<void> =>
  new Promise((resolve) => {
    if (!process.connected) return resolve();
    process.send?.(message, undefined, undefined, () => resolve());
  });

const HEARTBEAT_MS = 1_000;

/** Exits when the server is gone, and sends the server a heartbeat every second. */
export function attachToServer(): void {
  process.on('disconnect', () => process.exit(1));
  setInterval(() => void sendToServer({ waitstate: 'alive' }), HEARTBEAT_MS).unref();
}
