import type { Operator, RunView } from '../../../lambda/operator/operator.ts';
import type { DevLog } from './dev-log.ts';
import { describeDecision } from './run-report.ts';

/** Tells in the log what came of the approvals that runs waited for. */
export interface DecisionLog {
  /** What a run waits for now. */
  remember(run: RunView): void;
  /** The run goes on, and these approvals of it are still open. */
  logDecided(operator: Operator, run: string, open: readonly string[]): Promise<void>;
}

export function createDecisionLog(log: DevLog): DecisionLog {
  const pending = new Map<string, readonly string[]>();
  return {
    remember({ run, openApprovals }) {
      if (openApprovals.length > 0) pending.set(run, openApprovals);
      else pending.delete(run);
    },
    async logDecided(operator, run, open) {
      for (const id of pending.get(run) ?? []) {
        if (open.includes(id)) continue;
        // What is gone, or under a key, is not told.
        const approval = await operator.approval(run, id).catch(() => undefined);
        const decision = approval && describeDecision(approval);
        if (decision) log.run(run, ...decision);
      }
      if (pending.has(run)) pending.set(run, open);
    },
  };
}
