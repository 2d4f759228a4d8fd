import type { CommonOptions, Session } from '../session.ts';
import { bold, styled } from '../terminal/line.ts';
import { createProgress } from '../terminal/progress.ts';
import { newestVersion } from './history.ts';
import { confirm } from './input/confirm.ts';
import { pluralize, printResult } from './output/print-result.ts';

export interface PruneOptions extends CommonOptions {
  readonly keepLast: number;
  readonly keepNamed: boolean;
  readonly yes?: boolean;
}

/** Removes the content of old checkpoints permanently; asks for confirmation. */
export async function prune(session: Session, run: string, { keepLast, keepNamed, yes }: PruneOptions): Promise<void> {
  const target = await session.openTarget();
  const version = await newestVersion(target.operator, run);
  const kept = `the last ${keepLast}${keepNamed ? ' and those with a name' : ''}`;
  const warning = `Run "${run}" has ${pluralize(version, 'checkpoint')}. All except ${kept} will lose their content permanently.`;
  await confirm(session, warning, yes);
  const progress = createProgress(session.terminal);
  target.watch({
    onRead: (records) => progress.update(records, version, 'checkpoints read'),
    onWritten: (records) => progress.update(records, version, 'checkpoints pruned'),
  });
  const pruned = await target.store.prune(run, { keepLast, keepNamed }).finally(() => progress.end());
  const { emptied, payloadsRemoved } = pruned;
  await printResult(session, { run, ...pruned }, () => [
    emptied === 0
      ? [styled('green', '✓ '), 'Nothing to prune in ', bold(run)]
      : [
          styled('green', '✓ '),
          `Pruned ${pluralize(emptied, 'checkpoint')} of `,
          bold(run),
          `; kept ${pluralize(pruned.kept, 'checkpoint')}, removed ${pluralize(payloadsRemoved, 'payload')}`,
        ],
  ]);
}
