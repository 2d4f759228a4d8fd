import { WaitstateError } from '../../core/errors.ts';
import type { StoredRecord } from '../../storage/ports.ts';
import type { RunContext } from '../context.ts';
import { type CheckpointRecord, readName } from '../format/records.ts';

/** Throws NAME_TAKEN unless the checkpoint that has the name was pruned. */
export function checkNameIsFree(at: RunContext, { meta }: CheckpointRecord, holder: StoredRecord | undefined): void {
  if (holder && readName(holder).pruned) return;
  throw new WaitstateError(
    'NAME_TAKEN',
    `Run "${at.run}" has another checkpoint named "${meta.name}". Choose another name, or pass \`moveName: true\`.`,
  );
}
