import { isWaitstateError } from '../../core/errors.ts';
import { parseKey, versionKey } from '../../storage/keys.ts';
import type { RunContext } from '../context.ts';
import { payloadRefs } from '../document/payloads.ts';
import type { RunCipher } from '../encryption/run-cipher.ts';
import { unwrapCipher } from '../encryption/run-key.ts';
import { applyPatch, namingDamagedCheckpoint, readParts } from '../format/chain.ts';
import type { HeadMeta, NameMeta } from '../format/meta.ts';
import { type CheckpointRecord, readCheckpoint, readName } from '../format/records.ts';
import { scanRecords } from '../lists/scan.ts';
import { readBytes } from '../payload/payload-bytes.ts';
import { readLiveHead } from '../read-head.ts';
import { isPrunedIn, payloadsInUse } from './payloads-in-use.ts';

/** Damage that `verify` found. */
export interface Problem {
  /** The affected checkpoint. */
  readonly version: number;
  readonly problem: string;
}

/** The result of `verify`. */
export interface Verification {
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  /** The number of checkpoints, and the oldest version from which all checkpoints are intact and linked. */
  readonly checkpoints: number;
  readonly verifiedFrom: number | undefined;
  /**
   * The number of payloads read; undefined when the run's key is not available, so that only the hash chain is checked.
   */
  readonly payloads: number | undefined;
  /**
   * Whether the run is encrypted, so that tampering is detected too. Otherwise only damage is detected, because a
   * writer to the storage can compute new hashes.
   */
  readonly detectsTampering: boolean;
}

const MAX_ATTEMPTS = 3;

/** Reads a whole run and checks every hash, the links between checkpoints, and every payload that is in use. */
export async function verify(at: RunContext): Promise<Verification> {
  for (let attempt = 1; ; attempt++) {
    const { newest, ...found } = await examineRun(at);
    if (found.ok || attempt >= MAX_ATTEMPTS) return found;
    // A concurrent prune or delete is no damage; both take the next version first.
    await readLiveHead(at);
    const [written] = await at.records.read(at.partition, [versionKey(newest + 1)]);
    if (!written) return found;
  }
}

async function examineRun(at: RunContext): Promise<Verification & { readonly newest: number }> {
  const head = (await readLiveHead(at)).meta;
  const { checkpoints, problems, newest } = await checkRecords(at, head);
  problems.push(...checkEmptied(checkpoints), ...checkHead(checkpoints, head, newest));
  const cipher = await cipherIfAvailable(at, head);
  const contents = cipher && (await checkContents(at, cipher, checkpoints));
  problems.push(...(contents?.problems ?? []));
  problems.sort((a, b) => a.version - b.version);
  // An emptied checkpoint cannot be proven, and a problem leaves everything before it unproven.
  const empty = checkpoints.filter(({ meta }) => meta.emptied).map(({ version }) => version);
  const newestUnverified = Math.max(0, ...empty, ...problems.map(({ version }) => version));
  return {
    ok: problems.length === 0,
    problems,
    checkpoints: checkpoints.length,
    verifiedFrom: newestUnverified < newest ? newestUnverified + 1 : undefined,
    payloads: contents?.payloads,
    detectsTampering: cipher?.isEncrypted === true,
    newest,
  };
}

/** Checks each record: intact, none missing, linked to the previous one, and named by valid name records. */
async function checkRecords(at: RunContext, head: HeadMeta) {
  const checkpoints: CheckpointRecord[] = [];
  const named: (NameMeta & { readonly name: string })[] = [];
  const problems: Problem[] = [];
  let before = { version: 0, hash: head.uid };
  for await (const stored of scanRecords(at)) {
    const key = parseKey(stored.key);
    if (typeof key !== 'object') continue;
    const version = 'version' in key ? key.version : head.version;
    try {
      if ('name' in key) {
        named.push({ name: key.name, ...readName(stored) });
        continue;
      }
      const gap = version - before.version - 1;
      const more = gap > 1 ? `, and so are the next ${gap - 1}` : '';
      if (gap > 0) problems.push({ version: before.version + 1, problem: `it is missing${more}` });
      const expectedPrevious = before.version === version - 1 ? before.hash : undefined;
      before = { version, hash: '' };
      const record = readCheckpoint(stored);
      if (expectedPrevious && expectedPrevious !== record.meta.previous)
        problems.push({ version, problem: 'it is not linked to the previous checkpoint' });
      checkpoints.push(record);
      before = record;
    } catch (error) {
      problems.push({ version, problem: errorMessage(error) });
    }
  }
  const metas = new Map(checkpoints.map(({ version, meta }) => [version, meta]));
  for (const { name, version, anchor } of named) {
    const meta = metas.get(version);
    if (!meta) problems.push({ version, problem: `the name "${name}" refers to it, but it is not readable` });
    else if (meta.name !== name || (meta.anchor ?? version) !== anchor)
      problems.push({ version, problem: `the name "${name}" refers to it incorrectly` });
  }
  return { checkpoints, problems, newest: before.version };
}

/** A checkpoint may be empty only if a prune recorded that. */
function checkEmptied(checkpoints: readonly CheckpointRecord[]): readonly Problem[] {
  const pruned = isPrunedIn(checkpoints);
  return checkpoints
    .filter(({ version, meta }) => meta.emptied && !pruned(version))
    .map(({ version }) => ({ version, problem: 'it is empty, but no prune recorded that' }));
}

/** Checks the head's hash against the checkpoint of its last update. */
function checkHead(
  checkpoints: readonly CheckpointRecord[],
  { version, hash }: HeadMeta,
  newest: number,
): readonly Problem[] {
  if (newest < version) return [{ version, problem: 'the head refers to it, but it is missing' }];
  const named = checkpoints.find((record) => record.version === version);
  return named && named.hash !== hash ? [{ version, problem: 'its hash differs from the one in the head' }] : [];
}

async function cipherIfAvailable(at: RunContext, head: HeadMeta): Promise<RunCipher | undefined> {
  try {
    return await unwrapCipher(at, head);
  } catch (error) {
    if (at.keys && !isWaitstateError(error, 'RUN_SHREDDED')) throw error;
    return undefined;
  }
}

/** Rebuilds every state once, chain by chain, and reads every payload that is in use. */
async function checkContents(at: RunContext, cipher: RunCipher, checkpoints: readonly CheckpointRecord[]) {
  const pruned = isPrunedIn(checkpoints);
  const loadable = checkpoints.filter(({ version, meta }) => !meta.emptied && !pruned(version));
  const inUse = payloadsInUse(checkpoints, ({ version, meta }) => !meta.emptied && !pruned(version));
  const problems: Problem[] = [];
  const read = new Set<string>();
  const recordProblem = async (version: number, check: () => Promise<void>) => {
    try {
      await check();
    } catch (error) {
      problems.push({ version, problem: errorMessage(error) });
    }
  };
  for (const chain of groupIntoChains(loadable)) {
    const [anchor] = chain as readonly [CheckpointRecord, ...CheckpointRecord[]];
    await recordProblem(anchor.version, async () => {
      const { snapshot, folded, patches } = await readParts(at, cipher, chain);
      for (const [id] of anchor.meta.segments ?? []) read.add(id);
      let root = snapshot;
      for (const [index, record] of chain.entries()) {
        const patch = index === 0 ? folded.flat() : (patches[index - 1] ?? []);
        root = namingDamagedCheckpoint(record, () => applyPatch(root, patch));
        // Only a state with new payloads needs a search.
        for (const ref of record.meta.payloadsAdded || index === 0 ? payloadRefs(root).values() : []) {
          if (read.has(ref.id) || !inUse.has(ref.id)) continue;
          read.add(ref.id);
          await recordProblem(record.version, async () => void (await readBytes(at, cipher, ref)));
        }
      }
    });
  }
  return { problems, payloads: read.size };
}

/** Groups checkpoints into chains: each anchor with the linked checkpoints after it. */
function groupIntoChains(checkpoints: readonly CheckpointRecord[]): readonly (readonly CheckpointRecord[])[] {
  const chains: CheckpointRecord[][] = [];
  for (const record of checkpoints) {
    const chain = chains.at(-1);
    const { anchor, previous } = record.meta;
    if (chain && chain[0]?.version === anchor && chain.at(-1)?.hash === previous) chain.push(record);
    else chains.push([record]);
  }
  return chains;
}

const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));
