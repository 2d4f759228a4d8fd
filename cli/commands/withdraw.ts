import type { CommonOptions, Session } from '../session.ts';
import { bold, styled } from '../terminal/line.ts';
import { confirm } from './input/confirm.ts';
import { checkPending, findApproval } from './input/find-approval.ts';
import { outcomeLine } from './output/approval-lines.ts';
import { printResult } from './output/print-result.ts';
import { warnIfNoServer } from './output/warn-if-no-server.ts';

export interface WithdrawOptions extends CommonOptions {
  readonly reason: string;
  readonly yes?: boolean;
}

/** Takes a question back; asks first, since nobody can answer it any more. */
export async function withdraw(
  session: Session,
  run: string,
  approval: string | undefined,
  { reason, yes }: WithdrawOptions,
): Promise<void> {
  const target = await session.openTarget();
  const pending = await findApproval(target.operator, run, approval);
  checkPending(pending, 'there is nothing to withdraw');
  await confirm(
    session,
    `Nobody can answer "${pending.title}" any more, and run "${run}" goes on without an answer.`,
    yes,
  );
  const withdrawn = await target.operator.withdraw(run, pending.id, reason);
  await printResult(session, withdrawn, () => [
    [styled('green', '✓ '), bold(withdrawn.title)],
    ['  ', ...[outcomeLine(withdrawn)].flat()],
  ]);
  await warnIfNoServer(session, target);
}
