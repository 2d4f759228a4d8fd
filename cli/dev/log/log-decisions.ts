import type { Desk, RunView } from '../../../lambda/operator/operator.ts';
import type { DevLog } from './dev-log.ts';
import { decisionOf } from './run-report.ts';

/** Tells in the log what came of the approvals that runs waited for. */
export interface ToldDecisions {
  /** What a run waits for now. */
  remember(run: RunView): void;
  /** The run goes on, and these approvals of it are still open. */
  tell(desk: Desk, run: string, open: readonly string[]): Promise<void>;
}

export function toldDecisions(log: DevLog): ToldDecisions {
  const waited = new Map<string, readonly string[]>();
  return {
    remember({ run, openApprovals }) {
      if (openApprovals.length > 0) waited.set(run, openApprovals);
      else waited.delete(run);
    },
    async tell(desk, run, open) {
      for (const id of waited.get(run) ?? []) {
        if (open.includes(id)) continue;
        // What is gone, or under a key, is not told.
        const approval = await desk.approval(run, id).catch(() => undefined);
        const decision = approval && decisionOf(approval);
        if (decision) log.run(run, ...decision);
      }
      if (waited.has(run)) waited.set(run, open);
    },
  };
}
