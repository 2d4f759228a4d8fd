import { WaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { HEAD_KEY, nameKey, versionKey } from '../storage/keys.ts';
import type { RunContext } from './context.ts';
import { describeRecord, readCheckpoint, readHead, readName } from './format/records.ts';
import { firstRecords } from './lists/scan.ts';
import type { CheckpointSelector, FoundCheckpoint } from './loaded-checkpoint.ts';
import { checkLive, checkNotPruned, checkVersion } from './read-head.ts';
import { damagedError, runNotFound } from './run-errors.ts';

/** Finds a checkpoint by version or by name and reads its records. */
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
      `Run "${at.run}" has no ${missing}. Its history lists the checkpoints that exist.`,
    );
  }
  if ('version' in parsed) return { head, records: [checkNotPruned(at, readCheckpoint(stored))] };
  const { anchor, version } = readName(stored);
  const range = await firstRecords(at, { from: versionKey(anchor), to: versionKey(version) });
  if (range.at(-1)?.key !== versionKey(version)) {
    throw damagedError(describeRecord(stored), `checkpoint ${version} with this name is missing`);
  }
  const all = range.map(readCheckpoint);
  // The name record is not authenticated, but the checkpoint is.
  if (all.at(-1)?.meta.name !== parsed.name)
    throw damagedError(describeRecord(stored), `checkpoint ${version} has a different name`);
  // The named checkpoint comes first, because its version is the one to report.
  const [named, ...before] = all.toReversed().map((record) => checkNotPruned(at, record));
  const records = [...before.toReversed(), ...(named ? [named] : [])];
  return { head, records };
}

function parseSelector(selector: CheckpointSelector): { readonly version: number } | { readonly name: string } {
  if (typeof selector === 'number') return { version: checkVersion(selector) };
  if (typeof selector === 'object' && selector !== null && 'version' in selector !== 'name' in selector) {
    return 'version' in selector ? { version: checkVersion(selector.version) } : selector;
  }
  throw invalidInput('The checkpoint selector', 'a version, { version } or { name }', selector);
}
