import type { Session } from '../session.ts';
import { bold, styled } from '../terminal/line.ts';
import { statusText } from '../terminal/status-style.ts';
import { printResult } from './output/print-result.ts';
import { warnIfNoServer } from './output/warn-if-no-server.ts';

/** Resumes a failed run. */
export async function retry(session: Session, run: string): Promise<void> {
  const target = await session.openTarget();
  await target.operator.retry(run);
  const { status } = await target.operator.run(run);
  await printResult(session, { run, status }, () => [
    [styled('green', '✓ '), bold(run), ' resumes: ', statusText(status)],
  ]);
  await warnIfNoServer(session, target);
}
