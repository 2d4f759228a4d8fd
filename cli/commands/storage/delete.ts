import type { CommonOptions, Session } from '../../session.ts';
import { bold, styled } from '../../terminal/line.ts';
import { newestVersion } from '../history.ts';
import { confirm } from '../input/confirm.ts';
import { pluralize, printResult } from '../output/print-result.ts';

export interface RemovalOptions extends CommonOptions {
  readonly yes?: boolean;
}

/** Deletes a run permanently; asks for confirmation. */
export async function deleteRun(session: Session, run: string, { yes }: RemovalOptions): Promise<void> {
  const { operator, store } = await session.openTarget();
  const checkpoints = pluralize(await newestVersion(operator, run), 'checkpoint');
  await confirm(
    session,
    `Run "${run}" will be deleted permanently: ${checkpoints}, its approvals and its payloads. Its forks stay.`,
    yes,
  );
  await store.delete(run);
  await printResult(session, { run, deleted: true }, () => [[styled('green', '✓ '), 'Deleted ', bold(run)]]);
}
