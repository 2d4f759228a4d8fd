import { parseKey } from '../../storage/keys.ts';
import type { StoredRecord } from '../../storage/ports.ts';
import type { RunContext } from '../context.ts';
import type { NameMeta } from '../format/meta.ts';
import { type CheckpointRecord, readCheckpoint, readName } from '../format/records.ts';
import { payloadIdsOf } from '../format/side-record.ts';
import { scanRecords } from '../lists/scan.ts';

/** The stored name of a checkpoint. */
export interface NameRecord {
  readonly stored: StoredRecord;
  readonly meta: NameMeta;
}

/** Everything in the partition of a run except its head. */
interface WholeRun {
  readonly checkpoints: readonly CheckpointRecord[];
  readonly names: readonly NameRecord[];
  /** The payloads that side records refer to. */
  readonly sidePayloadIds: readonly string[];
}

/** Reads all checkpoints, names and side payloads of a run; throws when any record is damaged. */
export async function readWholeRun(at: RunContext): Promise<WholeRun> {
  const checkpoints: CheckpointRecord[] = [];
  const names: NameRecord[] = [];
  const sidePayloadIds: string[] = [];
  for await (const stored of scanRecords(at)) {
    const key = parseKey(stored.key);
    if (key === undefined) sidePayloadIds.push(...payloadIdsOf(stored));
    if (typeof key !== 'object') continue;
    if ('version' in key) checkpoints.push(readCheckpoint(stored));
    else names.push({ stored, meta: readName(stored) });
  }
  return { checkpoints, names, sidePayloadIds };
}
