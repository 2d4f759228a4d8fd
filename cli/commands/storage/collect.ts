import { EXIT, type ExitCode } from '../../exit-codes.ts';
import type { Session } from '../../session.ts';
import { styled } from '../../terminal/line.ts';
import { pluralize, printResult } from '../output/print-result.ts';

/** Removes payloads that no run refers to and that are older than a day; exit code 1 if a run could not be read. */
export async function collect(session: Session): Promise<ExitCode> {
  const { store } = await session.openTarget();
  const { payloadsRemoved, bytesRemoved, failed } = await store.collect();
  const failures = failed.map(({ run, error }) => ({
    run,
    error: error instanceof Error ? error.message : String(error),
  }));
  await printResult(session, { payloadsRemoved, bytesRemoved, failed: failures }, () => [
    [styled('green', '✓ '), `Removed ${pluralize(payloadsRemoved, 'payload')} with ${pluralize(bytesRemoved, 'byte')}`],
    ...failures.map(({ run, error }) => [styled('red', '✗ '), `${run}: ${error}`]),
  ]);
  return failures.length > 0 ? EXIT.failed : EXIT.ok;
}
