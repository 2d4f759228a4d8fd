import { isWaitstateError } from '../core/errors.ts';
import { HTTP_STATUS } from '../http/http-status.ts';
import { errorFields, type Telemetry } from '../runtime/telemetry.ts';

/** Counts and logs a request that was not done: refused, or failed where nothing was wrong with it. */
export function logFailedRequest(
  telemetry: Telemetry,
  error: unknown,
  fields: Readonly<Record<string, unknown>> = {},
): void {
  const isOurFault = !isWaitstateError(error) || (HTTP_STATUS[error.code] ?? 500) >= 500;
  telemetry.count(isOurFault ? 'RequestFailed' : 'RequestRefused');
  telemetry.log(isOurFault ? 'error' : 'info', 'A request was not done.', { ...fields, ...errorFields(error) });
}
