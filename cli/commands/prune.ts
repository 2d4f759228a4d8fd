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

/** Empties old checkpoints for good; asks first. */
export async function prune(session: Session, run: string, { keepLast, keepNamed, yes }: PruneOptions): Promise<void> {
  const target = await session.openTarget();
  const version = await newestVersion(target.operator, run);
  const but = `the last ${keepLast}${keepNamed ? ' and those with a name' : ''}`;
  const what = `Run "${run}" has ${pluralize(version, 'checkpoint')}. All but ${but} lose their states for good.`;
  await confirm(session, what, yes);
  const progress = createProgress(session.terminal);
  target.watch({
    onRead: (records) => progress.update(records, version, 'checkpoints read'),
    onWritten: (records) => progress.update(records, version, 'checkpoints emptied'),
  });
  const pruned = await target.store.prune(run, { keepLast, keepNamed }).finally(() => progress.end());
  const { emptied, kept, payloadsRemoved } = pruned;
  await printResult(session, { run, ...pruned }, () => [
    emptied === 0
      ? [styled('green', '✓ '), 'There was nothing to empty in ', bold(run)]
      : [
          ...[styled('green', '✓ '), `Emptied ${pluralize(emptied, 'checkpoint')} of `, bold(run)],
          `; ${pluralize(kept, 'checkpoint')} can still be loaded, ${pluralize(payloadsRemoved, 'payload')} removed`,
        ],
  ]);
}
