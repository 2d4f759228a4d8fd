import type { Session } from '../session.ts';
import { bold, styled } from '../terminal/line.ts';
import { checkPending, findApproval } from './input/find-approval.ts';
import { printResult } from './output/print-result.ts';
import { warnIfNoServer } from './output/warn-if-no-server.ts';

/** Notifies the approvers of a pending approval again. */
export async function remind(session: Session, run: string, approval: string | undefined): Promise<void> {
  const target = await session.openTarget();
  const { id } = await findApproval(target.operator, run, approval);
  const reminded = await target.operator.remind(run, id);
  checkPending(reminded, 'no reminder is needed');
  await printResult(session, reminded, () => [
    [styled('green', '✓ '), `${reminded.approvers.join(', ')} will be reminded: `, bold(reminded.title)],
  ]);
  await warnIfNoServer(session, target);
}
