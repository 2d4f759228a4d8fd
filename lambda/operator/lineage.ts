import {
  type CheckpointId,
  type HeadMeta,
  type RunContext,
  readCheckpoint,
  readHead,
  readLiveHead,
  scanRecords,
  toRunContext,
} from '../checkpoints/engine.ts';
import { parseForkRecord } from '../checkpoints/operations/operations.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import type { Status } from '../core/status.ts';
import { FORK_KEYS, HEAD_KEY, versionKey } from '../storage/keys.ts';

/** A run in the tree of its forks. */
export interface LineageNode {
  readonly run: string;
  /** Absent if the run is gone. */
  readonly status?: Status;
  /** The version of its parent that it was forked from. */
  readonly fromVersion?: number;
  readonly forks: readonly LineageNode[];
}

/** The tree of forks that contains a run, from its oldest known ancestor down. */
export interface Lineage {
  readonly root: LineageNode;
  /** Whether some forks are left out. */
  readonly hasMore: boolean;
}

const MAX_ANCESTORS = 20;
const MAX_RUNS = 200;

/** Loads the tree of forks that contains a run; throws if the run is gone. */
export async function loadLineage(at: RunContext): Promise<Lineage> {
  await readLiveHead(at);
  let oldest = at;
  for (let i = 0; i < MAX_ANCESTORS; i++) {
    const origin = await findOrigin(oldest);
    const parent = origin && toRunContext(at, at.tenant, origin.run);
    if (!parent || !(await findHead(parent))) break;
    oldest = parent;
  }
  const budget = { left: MAX_RUNS, hasMore: false };
  const root = await loadNode(oldest, await findHead(oldest), undefined, budget);
  return { root, hasMore: budget.hasMore };
}

async function loadNode(
  at: RunContext,
  head: HeadMeta | undefined,
  fromVersion: number | undefined,
  budget: { left: number; hasMore: boolean },
): Promise<LineageNode> {
  const forks: LineageNode[] = [];
  // If the run is gone, records under its id belong to another run.
  for await (const stored of head ? scanRecords(at, FORK_KEYS) : []) {
    if (--budget.left < 0) {
      budget.hasMore = true;
      break;
    }
    const { run, uid, version } = parseForkRecord(stored);
    const fork = toRunContext(at, at.tenant, run);
    const alive = await findHead(fork);
    forks.push(await loadNode(fork, alive?.uid === uid ? alive : undefined, version, budget));
  }
  return { run: at.run, ...omitUndefined({ status: head?.status, fromVersion }), forks };
}

/** The checkpoint that a run was forked from; undefined if it is not a fork. */
async function findOrigin(at: RunContext): Promise<CheckpointId | undefined> {
  const [stored] = await at.records.read(at.partition, [versionKey(1)]);
  const first = stored && readCheckpoint(stored).meta;
  return first?.kind === 'fork' ? first.parent : undefined;
}

/** The head of a run; undefined if the run does not exist or was deleted. */
async function findHead(at: RunContext): Promise<HeadMeta | undefined> {
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  const head = stored && readHead(stored).meta;
  return head?.deletedUntil === undefined ? head : undefined;
}
