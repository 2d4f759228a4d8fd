import type { Growth } from './growth.ts';
import { bytes, print, table } from './table.ts';
import { between } from './trace.ts';

/** Prints what large states take: the newest snapshot, and everything that the whole history keeps. */
export function printStorage(growths: readonly Growth[]): void {
  const rows = growths.flatMap(({ work, ours, hydrated }) =>
    hydrated
      .filter(({ newest, stateBytes }) => newest && stateBytes > 1e6)
      .map(({ steps, stateBytes, neededBytes, s3Requests }) => {
        const { dynamoBytesWritten, s3BytesWritten, s3 } = between(ours, 0, steps);
        const stored = dynamoBytesWritten + s3BytesWritten;
        return [
          work.name,
          steps,
          bytes(stateBytes),
          bytes(neededBytes),
          s3Requests,
          s3.PUT ?? 0,
          bytes(s3BytesWritten),
          bytes(dynamoBytesWritten),
          stored / neededBytes,
        ];
      }),
  );
  if (rows.length === 0) return;
  print(
    table(
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
