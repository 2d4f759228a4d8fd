import { WaitstateError } from '../../core/errors.ts';

/** The error that says how to install a peer dependency, if that is why a module did not load; otherwise `cause`. */
export function missingPeer(peer: string, cause: unknown): unknown {
  const { code, message } = Object(cause) as { code?: unknown; message?: unknown };
  if (!String(code).endsWith('MODULE_NOT_FOUND') || !String(message).includes(peer)) return cause;
  return new WaitstateError('STORAGE_MISSING', `The package ${peer} is not installed: run "npm install ${peer}".`, {
    cause,
  });
}
