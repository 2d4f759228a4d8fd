import type { ApprovalDocument } from '../../../lambda/operator/approval-document.ts';
import type { AnswerInput } from '../../../lambda/runtime/approvals/decide-input.ts';
import type { Session } from '../../session.ts';
import { bold, type Line, styled, wrapText } from '../../terminal/line.ts';
import { type DeciderOptions, toDecider } from '../input/decider.ts';
import { findApproval } from '../input/find-approval.ts';
import { outcomeLine } from '../output/approval-lines.ts';
import { printResult } from '../output/print-result.ts';
import { warnIfNoServer } from '../output/warn-if-no-server.ts';

/** The approval to decide. */
export interface DecidedApproval {
  readonly run: string;
  /** @default the only pending approval of the run */
  readonly approval: string | undefined;
}

/** Records a decision on exactly what the approval shows now, and prints its new status. */
export async function recordDecision(
  session: Session,
  { run, approval: id }: DecidedApproval,
  options: DeciderOptions,
  toAnswer: (approval: ApprovalDocument) => AnswerInput,
): Promise<void> {
  const decider = toDecider(session, options);
  const target = await session.openTarget();
  const approval = await findApproval(target.operator, run, id);
  const decided = await target.operator.decide(run, {
    ...toAnswer(approval),
    ...decider,
    approval: approval.id,
    // The decision applies only to the request that was just read.
    ...(approval.status === 'PENDING' && { contentHash: approval.contentHash }),
  });
  await printResult(session, decided, () => decisionLines(decided, session.terminal.columns));
  if (decided.status !== 'PENDING') await warnIfNoServer(session, target);
}

function decisionLines(approval: ApprovalDocument, columns: number): readonly Line[] {
  const mark = approval.status === 'REJECTED' ? styled('red', '✗ ') : styled('green', '✓ ');
  const [first = '', ...rest] = wrapText(approval.title, Math.min(columns, 100) - 2);
  return [[mark, bold(first)], ...rest.map((line) => ['  ', bold(line)]), ['  ', ...[outcomeLine(approval)].flat()]];
}
