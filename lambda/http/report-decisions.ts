import type { DecideAllResult } from '../runtime/approvals/decide-all.ts';
import { errorFields } from '../runtime/telemetry.ts';
import type { AppOptions } from './app-options.ts';
import { toProblem } from './problem.ts';

/** Counts the decisions of one request, and logs those that failed for internal reasons, which a response does not say. */
export function reportDecisions(
  { log, count }: AppOptions['telemetry'],
  results: readonly DecideAllResult<unknown>[],
): void {
  const decided = results.filter((result) => 'view' in result).length;
  if (decided > 0) count('DecisionRecorded', decided);
  for (const result of results)
    if ('error' in result && toProblem(result.error).status >= 500)
      log('error', 'A decision failed.', { run: result.run, approval: result.approval, ...errorFields(result.error) });
}
