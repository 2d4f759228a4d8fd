import type { Server } from 'node:http';
import { WaitstateError } from '../../../lambda/core/errors.ts';

// Not `localhost`, which may resolve to another address.
export const LOOPBACK = '127.0.0.1';
const DEFAULT_PORT = 4180;
const PORTS_TO_TRY = 50;

/**
 * Listens on the requested port, or throws if it is in use. Without one, listens on the port of the last start, the
 * default port, or the next free port.
 */
export async function listen(
  server: Server,
  requestedPort: number | undefined,
  lastPort: number | undefined,
): Promise<number> {
  if (requestedPort !== undefined) {
    if (await listenOn(server, requestedPort)) return portOf(server);
    throw new WaitstateError(
      'CONDITION_FAILED',
      `Port ${requestedPort} is in use by another program. Choose another port with --port, or omit it.`,
    );
  }
  const usual = Array.from({ length: PORTS_TO_TRY }, (_, i) => DEFAULT_PORT + i);
  for (const port of new Set([...(lastPort === undefined ? [] : [lastPort]), ...usual, 0]))
    if (await listenOn(server, port)) return portOf(server);
  throw new WaitstateError('CONDITION_FAILED', 'No free port was found on this machine.');
}

const listenOn = (server: Server, port: number): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => {
      server.off('listening', listening);
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(false);
      else reject(error);
    };
    const listening = () => {
      server.off('error', failed);
      resolve(true);
    };
    server.once('error', failed).once('listening', listening).listen(port, LOOPBACK);
  });

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}
