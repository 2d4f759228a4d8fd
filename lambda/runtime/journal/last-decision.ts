import type { RunOutcome } from '../../checkpoints/engine.ts';
import type { Entry } from './entries.ts';

const QUESTION_STATUSES: Readonly<Record<string, string>> = {
  APPROVED: 'ANSWERED',
  REJECTED: 'DECLINED',
  CHANGED: 'NOT_ACCEPTED',
};

/** The last decision of people in a journal: its status, and who decided. Questions have statuses of their own. */
export function lastDecision(entries: Iterable<readonly [id: string, entry: Entry]>): RunOutcome['decision'] {
  let last: { readonly seq: number; readonly decision: RunOutcome['decision'] } | undefined;
  for (const [, entry] of entries) {
    if (entry.kind !== 'approval') continue;
    const { status, by } = Object(entry.value ?? entry.decided) as { status?: string; by?: readonly string[] };
    const seq = entry.seq ?? 0;
    if (status === undefined || seq < (last?.seq ?? 0)) continue;
    const shown = (entry.question && QUESTION_STATUSES[status]) ?? status;
    last = { seq, decision: [shown, ...(by ?? []).slice(0, 3)] };
  }
  return last?.decision;
}
