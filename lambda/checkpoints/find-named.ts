import { WaitstateError } from '../core/errors.ts';
import { refused } from '../core/invalid-input.ts';
import type { RunContext } from './context.ts';
import { describe, HEAD_KEY, nameKey, readCheckpoint, readHead, readName, versionKey } from './format/records.ts';
import { checkVersion, type Found, refuseGone, refusePruned, type Which } from './load.ts';
import { damaged, runNotFound } from './run-errors.ts';
import { firstRecords } from './scan.ts';

/** Reads the records of a checkpoint that is asked for by version or by name. */
export async function namedRecord(at: RunContext, which: Which): Promise<Found> {
  const asked = parseWhich(which);
  const key = 'version' in asked ? versionKey(asked.version) : nameKey(asked.name);
  const found = await at.records.read(at.partition, [HEAD_KEY, key]);
  const storedHead = found.find((record) => record.key === HEAD_KEY);
  if (!storedHead) throw runNotFound(at);
  const head = readHead(storedHead);
  await refuseGone(at, head.meta);
  const stored = found.find((record) => record.key === key);
  if (!stored) {
    const missing = 'version' in asked ? `checkpoint ${asked.version}` : `checkpoint named "${asked.name}"`;
    throw new WaitstateError(
      'CHECKPOINT_NOT_FOUND',
      `Run "${at.run}" has no ${missing}. Its history lists those it has.`,
    );
  }
  if ('version' in asked) return { head, records: [refusePruned(at, readCheckpoint(stored))] };
  const { anchor, version } = readName(stored);
  const range = await firstRecords(at, { from: versionKey(anchor), to: versionKey(version) });
  if (range.at(-1)?.key !== versionKey(version)) {
    throw damaged(describe(stored), `checkpoint ${version}, which has the name, is missing`);
  }
  const records = range.map((record) => refusePruned(at, readCheckpoint(record)));
  // A name is not authenticated, but what it points at is.
  if (records.at(-1)?.meta.name !== asked.name)
    throw damaged(describe(stored), `checkpoint ${version} has another name`);
  return { head, records };
}

function parseWhich(which: Which): { readonly version: number } | { readonly name: string } {
  if (typeof which === 'number') return { version: checkVersion(which) };
  if (typeof which === 'object' && which !== null && 'version' in which !== 'name' in which) {
    return 'version' in which ? { version: checkVersion(which.version) } : which;
  }
  throw refused('Which checkpoint', 'a version, { version } or { name }', which);
}
