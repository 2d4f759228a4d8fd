import { WaitstateError } from '../../core/errors.ts';

/** Loads a module that needs an optional peer dependency; the error says how to install a missing one. */
export async function importOptionalPeer<M>(peer: string, load: () => Promise<M>): Promise<M> {
  try {
    return await load();
  } catch (cause) {
    const { code, message } = Object(cause) as { code?: unknown; message?: unknown };
    if (!String(code).endsWith('MODULE_NOT_FOUND') || !String(message).includes(peer)) throw cause;
    throw new WaitstateError('STORAGE_MISSING', `The package ${peer} is not installed: run "npm install ${peer}".`, {
      cause,
    });
  }
}
