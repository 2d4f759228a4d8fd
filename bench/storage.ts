import type { Growth } from './growth.ts';
import { formatBytes, formatTable, print } from './table.ts';
import { countsBetween } from './trace.ts';

/** Prints how much storage large states take: the newest snapshot, and the whole history. */
export function printStorage(growths: readonly Growth[]): void {
  const rows = growths.flatMap(({ work, ours, hydrated }) =>
    hydrated
      .filter(({ isNewest, stateBytes }) => isNewest && stateBytes > 1e6)
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
      'States above 1 MB: the size of a whole snapshot, the objects that the newest version needs, and what all versions keep until they are pruned.',
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
