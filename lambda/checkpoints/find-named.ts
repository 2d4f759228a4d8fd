import { WaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { HEAD_KEY, nameKey, versionKey } from '../storage/keys.ts';
import type { RunContext } from './context.ts';
import { describeRecord, readCheckpoint, readHead, readName } from './format/records.ts';
import type { CheckpointSelector, FoundCheckpoint } from './loaded-checkpoint.ts';
import { checkLive, checkNotPruned, checkVersion } from './read-head.ts';
import { damagedError, runNotFound } from './run-errors.ts';
import { firstRecords } from './scan.ts';

/** Reads the records of a checkpoint that is asked for by version or by name. */
export async function findSelected(at: RunContext, selector: CheckpointSelector): Promise<FoundCheckpoint> {
  const parsed = parseSelector(selector);
  const key = 'version' in parsed ? versionKey(parsed.version) : nameKey(parsed.name);
  const found = await at.records.read(at.partition, [HEAD_KEY, key]);
  const storedHead = found.find((record) => record.key === HEAD_KEY);
  if (!storedHead) throw runNotFound(at);
  const head = readHead(storedHead);
  await checkLive(at, head.meta);
  const stored = found.find((record) => record.key === key);
  if (!stored) {
    const missing = 'version' in parsed ? `checkpoint ${parsed.version}` : `checkpoint named "${parsed.name}"`;
    throw new WaitstateError(
      'CHECKPOINT_NOT_FOUND',
      `Run "${at.run}" has no ${missing}. Its history lists those it has.`,
    );
  }
  if ('version' in parsed) return { head, records: [checkNotPruned(at, readCheckpoint(stored))] };
  const { anchor, version } = readName(stored);
  const range = await firstRecords(at, { from: versionKey(anchor), to: versionKey(version) });
  if (range.at(-1)?.key !== versionKey(version)) {
    throw damagedError(describeRecord(stored), `checkpoint ${version}, which has the name, is missing`);
  }
  const records = range.map((record) => checkNotPruned(at, readCheckpoint(record)));
  // A name is not authenticated, but what it points at is.
  if (records.at(-1)?.meta.name !== parsed.name)
    throw damagedError(describeRecord(stored), `checkpoint ${version} has another name`);
  return { head, records };
}

function parseSelector(selector: CheckpointSelector): { readonly version: number } | { readonly name: string } {
  if (typeof selector === 'number') return { version: checkVersion(selector) };
  if (typeof selector === 'object' && selector !== null && 'version' in selector !== 'name' in selector) {
    return 'version' in selector ? { version: checkVersion(selector.version) } : selector;
  }
  throw invalidInput('Which checkpoint', 'a version, { version } or { name }', selector);
}
