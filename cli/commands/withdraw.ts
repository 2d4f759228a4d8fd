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

/** Withdraws an approval; asks for confirmation, because nobody can decide it afterwards. */
export async function withdraw(
  session: Session,
  run: string,
  approval: string | undefined,
  { reason, yes }: WithdrawOptions,
): Promise<void> {
  const target = await session.openTarget();
  const pending = await findApproval(target.operator, run, approval);
  checkPending(pending, 'it can no longer be withdrawn');
  await confirm(
    session,
    `Nobody will be able to decide "${pending.title}". Run "${run}" will continue as if it was rejected.`,
    yes,
  );
  const withdrawn = await target.operator.withdraw(run, pending.id, reason);
  await printResult(session, withdrawn, () => [
    [styled('green', '✓ '), bold(withdrawn.title)],
    ['  ', ...[outcomeLine(withdrawn)].flat()],
  ]);
  await warnIfNoServer(session, target);
}
