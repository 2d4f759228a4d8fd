import type { Session } from '../session.ts';
import { bold, styled } from '../terminal/line.ts';
import { statusText } from '../terminal/status-style.ts';
import { answer } from './output/print-result.ts';
import { tellIfNobodyRuns } from './output/warn-if-no-server.ts';

/** Lets a run that failed go on. */
export async function retry(session: Session, run: string): Promise<void> {
  const place = await session.open();
  await place.desk.retry(run);
  const { status } = await place.desk.run(run);
  await answer(session, { run, status }, () => [[styled('green', '✓ '), bold(run), ' goes on: ', statusText(status)]]);
  await tellIfNobodyRuns(session, place);
}
