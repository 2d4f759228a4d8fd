import { isWaitstateError } from '../core/errors.ts';
import { HTTP_STATUS } from '../http/http-status.ts';
import { errorFields, type Observing } from '../runtime/telemetry.ts';

/** Counts and logs a request that was not done: refused, or failed where nothing was wrong with it. */
export function notDone(observing: Observing, error: unknown, fields: Readonly<Record<string, unknown>> = {}): void {
  const isOurFault = !isWaitstateError(error) || (HTTP_STATUS[error.code] ?? 500) >= 500;
  observing.count(isOurFault ? 'RequestFailed' : 'RequestRefused');
  observing.log(isOurFault ? 'error' : 'info', 'A request was not done.', { ...fields, ...errorFields(error) });
}
