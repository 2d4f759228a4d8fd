import type { Operator, RunView } from '../../../lambda/operator/operator.ts';
import type { DevLog } from './dev-log.ts';
import { describeDecision } from './run-report.ts';

/** Logs the decisions on approvals that runs waited for. */
export interface DecisionLog {
  /** Remembers the pending approvals of a run. */
  remember(run: RunView): void;
  /** Logs the approvals of a run that were decided: the remembered ones that are not in `open`. */
  logDecided(operator: Operator, run: string, open: readonly string[]): Promise<void>;
}

export function createDecisionLog(log: DevLog): DecisionLog {
  const pending = new Map<string, readonly string[]>();
  return {
    remember({ run, pendingApprovals }) {
      if (pendingApprovals.length > 0) pending.set(run, pendingApprovals);
      else pending.delete(run);
    },
    async logDecided(operator, run, open) {
      for (const id of pending.get(run) ?? []) {
        if (open.includes(id)) continue;
        // A deleted or encrypted approval is not logged.
        const approval = await operator.approval(run, id).catch(() => undefined);
        const decision = approval && describeDecision(approval);
        if (decision) log.run(run, ...decision);
      }
      if (pending.has(run)) pending.set(run, open);
    },
  };
}
