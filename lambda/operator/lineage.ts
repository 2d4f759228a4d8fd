import type { CheckpointId, HeadMeta, RunContext } from '../checkpoints/engine.ts';
import { readCheckpoint, readHead, readLiveHead, scanRecords, toRunContext } from '../checkpoints/engine.ts';
import { parseForkRecord } from '../checkpoints/operations/operations.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import type { Status } from '../core/status.ts';
import { FORK_KEYS, HEAD_KEY, versionKey } from '../storage/keys.ts';

/** A run in the tree of its forks. */
export interface LineageNode {
  readonly run: string;
  /** Absent when the run is gone. */
  readonly status?: Status;
  /** The version of its parent that it began with. */
  readonly fromVersion?: number;
  readonly forks: readonly LineageNode[];
}

/** The tree that a run is in: from its oldest known ancestor down to all that was forked from it. */
export interface Lineage {
  readonly root: LineageNode;
  /** Whether there are more forks than are listed. */
  readonly isMore: boolean;
}

const MOST_ANCESTORS = 20;
const MOST_RUNS = 200;

/** The tree of forks that a run is in; refuses a run that is gone. */
export async function loadLineage(at: RunContext): Promise<Lineage> {
  await readLiveHead(at);
  let oldest = at;
  for (let i = 0; i < MOST_ANCESTORS; i++) {
    const origin = await originOf(oldest);
    const parent = origin && toRunContext(at, at.tenant, origin.run);
    if (!parent || !(await headOf(parent))) break;
    oldest = parent;
  }
  const room = { left: MOST_RUNS, isMore: false };
  const root = await relative(oldest, await headOf(oldest), undefined, room);
  return { root, isMore: room.isMore };
}

async function relative(
  at: RunContext,
  head: HeadMeta | undefined,
  fromVersion: number | undefined,
  room: { left: number; isMore: boolean },
): Promise<LineageNode> {
  const forks: LineageNode[] = [];
  // What is there under the id of a run that is gone is another's.
  for await (const stored of head ? scanRecords(at, FORK_KEYS) : []) {
    if (--room.left < 0) {
      room.isMore = true;
      break;
    }
    const { run, born, version } = parseForkRecord(stored);
    const there = toRunContext(at, at.tenant, run);
    const alive = await headOf(there);
    forks.push(await relative(there, alive?.born === born ? alive : undefined, version, room));
  }
  return { run: at.run, ...omitUndefined({ status: head?.status, fromVersion }), forks };
}

/** What a run was forked from, if it was. */
async function originOf(at: RunContext): Promise<CheckpointId | undefined> {
  const [stored] = await at.records.read(at.partition, [versionKey(1)]);
  const first = stored && readCheckpoint(stored).meta;
  return first?.kind === 'fork' ? first.parent : undefined;
}

/** The head of a run that is there. */
async function headOf(at: RunContext): Promise<HeadMeta | undefined> {
  const [stored] = await at.records.read(at.partition, [HEAD_KEY]);
  const head = stored && readHead(stored).meta;
  return head?.deletedUntil === undefined ? head : undefined;
}
