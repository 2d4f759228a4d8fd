import type { Session } from '../../session.ts';
import { bold, styled } from '../../terminal/line.ts';
import { confirm } from '../input/confirm.ts';
import { printResult } from '../output/print-result.ts';
import type { RemovalOptions } from './delete.ts';

/** Destroys the key of an encrypted run, so that nobody can read its content again; asks for confirmation. */
export async function shred(session: Session, run: string, { yes }: RemovalOptions): Promise<void> {
  const { operator, store } = await session.openTarget();
  await operator.history(run, { newestFirst: true, limit: 1 });
  await confirm(
    session,
    `The key of run "${run}" will be destroyed. Nobody will be able to read its content again, not even from a backup. Its history stays.`,
    yes,
  );
  await store.shred(run);
  await printResult(session, { run, shredded: true }, () => [[styled('green', '✓ '), 'Shredded ', bold(run)]]);
}
