import { errorDetails } from '../../../lambda/storage/aws/classify-aws-error.ts';
import { errorSummary, type Finding, fail, ok } from './finding.ts';

/** A call that was tried, and what came of it. */
export interface ProbedCall {
  readonly action: string;
  readonly error: unknown;
}

/** Whether an error says that something is not allowed. */
export const isDenied = (error: unknown): boolean => {
  const { name, status } = errorDetails(error);
  return /AccessDenied|Forbidden|NotAuthorized|Unauthorized/.test(name) || status === 403;
};

/** What calls that were tried say of permissions. */
export function permissionFinding(check: string, resource: string, calls: readonly ProbedCall[]): Finding {
  const denied = calls.filter(({ error }) => isDenied(error)).map(({ action }) => action);
  if (denied.length > 0)
    return fail(check, `not allowed: ${denied.join(', ')}`, `Allow ${denied.join(', ')} on ${resource}.`);
  const failed = calls.find(({ error }) => error !== undefined);
  if (failed)
    return fail(
      check,
      `${failed.action}: ${errorSummary(failed.error)}`,
      'Try again; if it stays, the table or bucket is not what it should be.',
    );
  return ok(check, calls.map(({ action }) => action.replace(/^\w+:/, '')).join(', '));
}
