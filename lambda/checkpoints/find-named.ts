import { WaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import type { RunContext } from './context.ts';
import { describeRecord, HEAD_KEY, nameKey, readCheckpoint, readHead, readName, versionKey } from './format/records.ts';
import { type CheckpointSelector, checkLive, checkNotPruned, checkVersion, type FoundCheckpoint } from './load.ts';
import { damagedError, runNotFound } from './run-errors.ts';
import { firstRecords } from './scan.ts';

/** Reads the records of a checkpoint that is asked for by version or by name. */
export async function findSelected(at: RunContext, which: CheckpointSelector): Promise<FoundCheckpoint> {
  const asked = parseWhich(which);
  const key = 'version' in asked ? versionKey(asked.version) : nameKey(asked.name);
  const found = await at.records.read(at.partition, [HEAD_KEY, key]);
  const storedHead = found.find((record) => record.key === HEAD_KEY);
  if (!storedHead) throw runNotFound(at);
  const head = readHead(storedHead);
  await checkLive(at, head.meta);
  const stored = found.find((record) => record.key === key);
  if (!stored) {
    const missing = 'version' in asked ? `checkpoint ${asked.version}` : `checkpoint named "${asked.name}"`;
    throw new WaitstateError(
      'CHECKPOINT_NOT_FOUND',
      `Run "${at.run}" has no ${missing}. Its history lists those it has.`,
    );
  }
  if ('version' in asked) return { head, records: [checkNotPruned(at, readCheckpoint(stored))] };
  const { anchor, version } = readName(stored);
  const range = await firstRecords(at, { from: versionKey(anchor), to: versionKey(version) });
  if (range.at(-1)?.key !== versionKey(version)) {
    throw damagedError(describeRecord(stored), `checkpoint ${version}, which has the name, is missing`);
  }
  const records = range.map((record) => checkNotPruned(at, readCheckpoint(record)));
  // A name is not authenticated, but what it points at is.
  if (records.at(-1)?.meta.name !== asked.name)
    throw damagedError(describeRecord(stored), `checkpoint ${version} has another name`);
  return { head, records };
}

function parseWhich(which: CheckpointSelector): { readonly version: number } | { readonly name: string } {
  if (typeof which === 'number') return { version: checkVersion(which) };
  if (typeof which === 'object' && which !== null && 'version' in which !== 'name' in which) {
    return 'version' in which ? { version: checkVersion(which.version) } : which;
  }
  throw invalidInput('Which checkpoint', 'a version, { version } or { name }', which);
}
