import { errorDetails } from '../../../lambda/storage/aws/classify-aws-error.ts';
import { errorSummary, type Finding, fail, ok } from './finding.ts';

/** The id of a run that does not exist, for calls that check permissions. */
export const PROBE_RUN = 'waitstate-doctor';

/** A call that was made to check a permission, and its error. */
export interface ProbedCall {
  readonly action: string;
  readonly error: unknown;
}

/** Whether an error means that a permission is missing. */
export const isDenied = (error: unknown): boolean => {
  const { name, status } = errorDetails(error);
  return /AccessDenied|Forbidden|NotAuthorized|Unauthorized/.test(name) || status === 403;
};

/** Reports which permissions are missing. */
export function permissionFinding(check: string, resource: string, calls: readonly ProbedCall[]): Finding {
  const denied = calls.filter(({ error }) => isDenied(error)).map(({ action }) => action);
  if (denied.length > 0)
    return fail(
      check,
      `not allowed: ${denied.join(', ')}`,
      `Allow ${denied.join(', ')} on ${resource}. If your role is restricted to a tenant, name it with --tenant.`,
    );
  const failed = calls.find(({ error }) => error !== undefined);
  if (failed)
    return fail(
      check,
      `${failed.action}: ${errorSummary(failed.error)}`,
      'Try again. If the error stays, check the configuration of the table or bucket.',
    );
  return ok(check, calls.map(({ action }) => action.replace(/^\w+:/, '')).join(', '));
}
