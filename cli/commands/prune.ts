import type { Located, Session } from '../session.ts';
import { bold, styled } from '../terminal/line.ts';
import { progressOn } from '../terminal/progress.ts';
import { newestVersion } from './history.ts';
import { confirm } from './input/confirm.ts';
import { answer, counted } from './output/print-result.ts';

export interface PruneOptions extends Located {
  readonly keepLast: number;
  readonly keepNamed: boolean;
  readonly yes?: boolean;
}

/** Empties old checkpoints for good; asks first. */
export async function prune(session: Session, run: string, { keepLast, keepNamed, yes }: PruneOptions): Promise<void> {
  const place = await session.open();
  const version = await newestVersion(place.desk, run);
  const but = `the last ${keepLast}${keepNamed ? ' and those with a name' : ''}`;
  const what = `Run "${run}" has ${counted(version, 'checkpoint')}. All but ${but} lose their states for good.`;
  await confirm(session, what, yes);
  const progress = progressOn(session.terminal);
  place.watch({
    read: (records) => progress.at(records, version, 'checkpoints read'),
    written: (records) => progress.at(records, version, 'checkpoints emptied'),
  });
  const pruned = await place.store.prune(run, { keepLast, keepNamed }).finally(() => progress.end());
  const { emptied, kept, payloadsRemoved } = pruned;
  await answer(session, { run, ...pruned }, () => [
    emptied === 0
      ? [styled('green', '✓ '), 'There was nothing to empty in ', bold(run)]
      : [
          ...[styled('green', '✓ '), `Emptied ${counted(emptied, 'checkpoint')} of `, bold(run)],
          `; ${counted(kept, 'checkpoint')} can still be loaded, ${counted(payloadsRemoved, 'payload')} removed`,
        ],
  ]);
}
