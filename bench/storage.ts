import type { Growth } from './growth.ts';
import { formatBytes, formatTable, print } from './table.ts';
import { countsBetween } from './trace.ts';

/** Prints what large states take: the newest snapshot, and everything that the whole history keeps. */
export function printStorage(growths: readonly Growth[]): void {
  const rows = growths.flatMap(({ work, ours, hydrated }) =>
    hydrated
      .filter(({ isNewest: newest, stateBytes }) => newest && stateBytes > 1e6)
      .map(({ steps, stateBytes, neededBytes, s3Requests }) => {
        const { dynamoBytesWritten, s3BytesWritten, s3 } = countsBetween(ours, 0, steps);
        const stored = dynamoBytesWritten + s3BytesWritten;
        return [
          work.name,
          steps,
          formatBytes(stateBytes),
          formatBytes(neededBytes),
          s3Requests,
          s3.PUT ?? 0,
          formatBytes(s3BytesWritten),
          formatBytes(dynamoBytesWritten),
          stored / neededBytes,
        ];
      }),
  );
  if (rows.length === 0) return;
  print(
    formatTable(
      'States above 1 MB: a whole snapshot of the state, the objects that the newest version stands on, and what all versions together keep until a prune.',
      [
        'work',
        'steps',
        'state',
        'snapshot',
        'objects of newest',
        'objects',
        'kept in S3',
        'in DynamoDB',
        'kept/snapshot',
      ],
      rows,
    ),
  );
}
