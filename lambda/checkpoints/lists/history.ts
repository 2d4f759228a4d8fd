import { MAX_VERSION, versionKey } from '../../storage/keys.ts';
import type { CheckpointSummary } from '../checkpoint.ts';
import type { RunContext } from '../context.ts';
import { readCheckpoint, toCheckpointSummary } from '../format/records.ts';
import { checkVersion, readLiveHead } from '../read-head.ts';
import { takeUpTo } from './merge-sorted.ts';
import { scanRecords } from './scan.ts';

/** Which checkpoints of a run to list, and in which order. */
export interface HistoryOptions {
  readonly newestFirst?: boolean;
  /** The first and the last version, both included. */
  readonly from?: number;
  readonly to?: number;
  readonly limit?: number;
}

const PAGE_SIZE = 100;

/** Lists the checkpoints of a run without their states; reads page by page. */
export async function* history(at: RunContext, options: HistoryOptions): AsyncGenerator<CheckpointSummary> {
  const { from = 1, to = MAX_VERSION, newestFirst = false, limit } = options;
  const range = {
    from: versionKey(checkVersion(from, '`from`')),
    to: versionKey(checkVersion(to, '`to`')),
    newestFirst,
    limit: Math.min(limit ?? PAGE_SIZE, PAGE_SIZE),
  };
  const summaries = async function* () {
    await readLiveHead(at);
    for await (const record of scanRecords(at, range)) yield toCheckpointSummary(at.run, readCheckpoint(record));
  };
  yield* takeUpTo(limit, summaries());
}
