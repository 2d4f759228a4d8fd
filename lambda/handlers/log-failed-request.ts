import { isWaitstateError } from '../core/errors.ts';
import { HTTP_STATUS } from '../http/http-status.ts';
import { errorFields, type Telemetry } from '../runtime/telemetry.ts';

/** Counts and logs a request that was refused (4xx) or failed (5xx). */
export function logFailedRequest(
  telemetry: Telemetry,
  error: unknown,
  fields: Readonly<Record<string, unknown>> = {},
): void {
  const isServerError = !isWaitstateError(error) || (HTTP_STATUS[error.code] ?? 500) >= 500;
  telemetry.count(isServerError ? 'RequestFailed' : 'RequestRefused');
  telemetry.log(isServerError ? 'error' : 'info', isServerError ? 'A request failed.' : 'A request was refused.', {
    ...fields,
    ...errorFields(error),
  });
}
