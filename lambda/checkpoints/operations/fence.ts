import {
  commitCheckpoint,
  createHeadMove,
  type HeadChange,
  type MetaFields,
  nextMeta,
  type Predecessor,
} from '../commit.ts';
import type { RunContext } from '../context.ts';
import type { CheckpointMeta } from '../format/meta.ts';
import { checkpointRecord, type HeadRecord } from '../format/records.ts';
import { StaleVersionError } from '../stale-version-error.ts';

/**
 * Takes the next version without decrypting the run, for a prune, shred or delete. Writers on an older version lose.
 */
export async function fence(
  at: RunContext,
  before: Predecessor,
  fields: Pick<CheckpointMeta, 'kind'> & MetaFields,
  headChange?: HeadChange,
): Promise<HeadRecord> {
  const { version, meta } = before.record;
  const { step, labels, status, schema, stepNumber, top } = meta;
  const shownFields = { step, labels, status, schema, stepNumber, top, restored: shownVersion(version, meta) };
  const next = nextMeta(at, before.record, { ...shownFields, anchor: meta.anchor ?? version, ...fields });
  const record = checkpointRecord(at.partition, version + 1, next, () => undefined);
  at.cache.forget(at.partition);
  const outcome = await commitCheckpoint(at, before, record, createHeadMove(at, before, record, headChange), undefined);
  if (outcome === 'already written') throw new StaleVersionError(at.run, version, undefined);
  return outcome;
}

/** The version whose content a checkpoint shows: undo, redo and prune show an earlier version, all others their own. */
export const shownVersion = (version: number, { kind, restored }: CheckpointMeta): number =>
  restored !== undefined && (kind === 'undo' || kind === 'redo' || kind === 'prune') ? restored : version;
