import { isWaitstateError } from '../../../lambda/core/errors.ts';
import type { Target } from '../../target/target.ts';
import { pluralize } from '../output/print-result.ts';
import { errorSummary, type Finding, fail, ok, warn } from './finding.ts';

/** Checks that approvers were notified: a late notification means that no process can send it, or that it fails. */
export async function checkNotifications(openTarget: () => Promise<Target>): Promise<Finding> {
  try {
    const { operator } = await openTarget();
    const late = await operator.unsentNotifications();
    const [oldest] = late;
    if (!oldest) return ok('notifications', 'none is late');
    const { run, approval, since, attempts, agent = 'unknown' } = oldest;
    return warn(
      'notifications',
      `${pluralize(late.length, 'late notification')} to approvers, since ${new Date(since).toISOString()}: approval "${approval}" of run "${run}"`,
      attempts === 0
        ? `Start a process that has agent "${agent}": no running process could notify its approvers.`
        : `Check the log of agent "${agent}": ${pluralize(attempts, 'attempt')} to notify failed.`,
    );
  } catch (error) {
    // Credentials that are limited to a tenant cannot read the index of all tenants.
    if (isWaitstateError(error, 'STORAGE_DENIED'))
      return ok('notifications', 'not checked: these credentials cannot read the index of due records');
    return fail('notifications', errorSummary(error), 'Fix the problems above, then run "waitstate doctor" again.');
  }
}
