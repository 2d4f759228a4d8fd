import type { Session } from '../session.ts';
import { bold, styled } from '../terminal/line.ts';
import { checkPending, findAsked } from './input/find-approval.ts';
import { answer } from './output/print-result.ts';
import { tellIfNobodyRuns } from './output/warn-if-no-server.ts';

/** Has people told once more of what they are asked. */
export async function remind(session: Session, run: string, approval: string | undefined): Promise<void> {
  const place = await session.open();
  const { id } = await findAsked(place.desk, run, approval);
  const reminded = await place.desk.remind(run, id);
  checkPending(reminded, 'nobody has to be reminded');
  await answer(session, reminded, () => [
    [styled('green', '✓ '), `${reminded.approvers.join(', ')} will be reminded: `, bold(reminded.title)],
  ]);
  await tellIfNobodyRuns(session, place);
}
