import { isHoldpointError } from '../core/errors.ts';
import { readParts } from './chain.ts';
import type { RunContext } from './context.ts';
import type { Doc } from './document/document.ts';
import { apply } from './document/patch.ts';
import { payloadRefs } from './document/payloads.ts';
import { allRecords } from './history.ts';
import { payloadsInUse } from './in-use.ts';
import { readBytes } from './payload.ts';
import { type CheckpointRecord, isCheckpoint, type NameMeta, readCheckpoint, readMeta, versionKey } from './records.ts';
import type { Sealing } from './sealing.ts';
import { readLiveHead, sealingOf } from './tail.ts';

export interface Problem {
  /** The checkpoint that is damaged, where it is one. */
  readonly version?: number;
  readonly problem: string;
}

export interface Verification {
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  /** How many checkpoints there are, and the oldest from which every one is whole and follows from the one before it. */
  readonly checkpoints: number;
  readonly provenFrom: number | undefined;
  /** How many payloads were read; undefined when the run's key is not at hand, so that only the chain of hashes was looked at. */
  readonly payloads: number | undefined;
  /** With a key, altering a run shows too; without one only damage does: who can write to the storage can write new hashes. */
  readonly keyed: boolean;
}

const TRIES = 3;

/** Reads a whole run: every hash, what follows from what, every payload that some checkpoint needs. */
export async function verify(at: RunContext): Promise<Verification> {
  for (let attempt = 1; ; attempt++) {
    const { newest, ...found } = await examine(at);
    if (found.ok || attempt >= TRIES) return found;
    // What a prune or a deletion took away while it was looked at is no damage; both take the next version first.
    await readLiveHead(at);
    const [written] = await at.records.read(at.partition, [versionKey(newest + 1)]);
    if (!written) return found;
  }
}

async function examine(at: RunContext): Promise<Verification & { readonly newest: number }> {
  const head = await readLiveHead(at);
  const problems: Problem[] = [];
  const checkpoints: CheckpointRecord[] = [];
  const names: NameMeta[] = [];
  let before = { version: 0, revision: head.meta.born };
  let provenFrom: number | undefined;
  const report = (version: number, problem: string) => {
    problems.push({ version, problem });
    provenFrom = undefined;
  };
  for await (const stored of allRecords(at, {})) {
    if (stored.key.startsWith('n')) names.push(readMeta(stored));
    if (!isCheckpoint(stored)) continue;
    const version = Number(stored.key.slice(1));
    const whole = problems.length;
    for (let gap = before.version + 1; gap < version; gap++) report(gap, 'it is missing');
    let record: CheckpointRecord | undefined;
    try {
      record = readCheckpoint(stored);
      if (before.version === version - 1 && record.meta.p !== before.revision)
        report(version, 'it does not follow from the one before it');
      checkpoints.push(record);
    } catch (error) {
      report(version, messageOf(error));
    }
    if (record?.meta.e) provenFrom = undefined;
    else if (problems.length === whole) provenFrom ??= version;
    before = { version, revision: stored.revision.replace('~', '') };
  }
  const byVersion = new Map(checkpoints.map((record) => [record.version, record]));
  checkEmptied(checkpoints, report);
  if (before.version < head.meta.version) report(head.meta.version, 'the head names it, and it is missing');
  const atHead = byVersion.get(head.meta.version);
  if (atHead && atHead.revision !== head.meta.hash) report(atHead.version, 'it is not the one that the head names');
  for (const { version } of names)
    if (!byVersion.has(version)) report(version, 'a name points at it, and it is not readable');

  const sealing = await openable(at, () => sealingOf(at, head.meta));
  const payloads =
    sealing &&
    (await checkContents(at, sealing, checkpoints, (version, problem) => problems.push({ version, problem })));
  const keyed = sealing?.encrypted === true;
  const ok = problems.length === 0;
  return { ok, problems, checkpoints: checkpoints.length, provenFrom, payloads, keyed, newest: before.version };
}

/** A checkpoint may be empty only where a prune says that it emptied it. */
function checkEmptied(
  checkpoints: readonly CheckpointRecord[],
  report: (version: number, problem: string) => void,
): void {
  const told = prunedIn(checkpoints);
  for (const { version, meta } of checkpoints)
    if (meta.e && !told(version)) report(version, 'it is empty, and no prune says so');
}

/** Whether a prune says that it empties this version. It may have died before it did. */
function prunedIn(checkpoints: readonly CheckpointRecord[]): (version: number) => boolean {
  const told = checkpoints.flatMap(({ meta }) => meta.pz ?? []);
  return (version) => told.some(([from, to]) => from <= version && version <= to);
}

async function openable(at: RunContext, open: () => Promise<Sealing>): Promise<Sealing | undefined> {
  try {
    return await open();
  } catch (error) {
    if (at.keys && !isHoldpointError(error, 'RUN_SHREDDED')) throw error;
    return undefined;
  }
}

/** Puts every state together once, chain by chain, and reads every payload that is in use. */
async function checkContents(
  at: RunContext,
  sealing: Sealing,
  checkpoints: readonly CheckpointRecord[],
  report: (version: number, problem: string) => void,
): Promise<number> {
  const inUse = payloadsInUse(checkpoints, (version) =>
    checkpoints.some((record) => record.version === version && !record.meta.e),
  );
  const seen = new Set<string>();
  for (const chain of chainsOf(checkpoints)) {
    const { version } = chain.at(-1) as CheckpointRecord;
    try {
      const { snapshot, folded, patches } = await readParts(at, sealing, chain);
      apply(snapshot, [...folded, ...patches].flat());
      for (const ref of payloadRefs([snapshot, ...folded, ...patches] as unknown as Doc)) {
        if (seen.has(ref.id) || !inUse.has(ref.id)) continue;
        seen.add(ref.id);
        await readBytes(at, sealing, ref);
      }
      for (const [id] of chain[0]?.meta.g ?? []) seen.add(id);
    } catch (error) {
      report(version, messageOf(error));
    }
  }
  return seen.size;
}

/** Each anchor with all that stands on it. */
function chainsOf(checkpoints: readonly CheckpointRecord[]): readonly (readonly CheckpointRecord[])[] {
  const chains: CheckpointRecord[][] = [];
  const told = prunedIn(checkpoints);
  for (const record of checkpoints) {
    if (record.meta.e || told(record.version)) continue;
    if (record.meta.a === undefined) chains.push([record]);
    else if (chains.at(-1)?.[0]?.version === record.meta.a) chains.at(-1)?.push(record);
    else chains.push([record]);
  }
  return chains;
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
