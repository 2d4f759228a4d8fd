import { decodeResults, savedState } from '../../../lambda/checkpoints/content.ts';
import type { RunContext } from '../../../lambda/checkpoints/context.ts';
import { contextFactory } from '../../../lambda/checkpoints/context-factory.ts';
import { applyPatch, readParts } from '../../../lambda/checkpoints/format/chain.ts';
import type { HeadMeta } from '../../../lambda/checkpoints/format/meta.ts';
import { type CheckpointRecord, readCheckpoint } from '../../../lambda/checkpoints/format/records.ts';
import { scanRecords } from '../../../lambda/checkpoints/lists/scan.ts';
import { loadCheckpoint } from '../../../lambda/checkpoints/load.ts';
import type { LoadedCheckpoint } from '../../../lambda/checkpoints/loaded-checkpoint.ts';
import { verify } from '../../../lambda/checkpoints/operations/verify.ts';
import type { Entry } from '../../../lambda/runtime/journal/entries.ts';
import { CHECKPOINT_KEYS } from '../../../lambda/storage/keys.ts';
import type { State } from '../playing.ts';
import type { Program } from '../program.ts';
import type { World } from '../world.ts';

/** One checkpoint, decoded for the checks. */
export interface Version {
  readonly version: number;
  readonly kind: string;
  readonly entries: ReadonlyMap<string, Entry>;
  /** The number of the commit that wrote it. */
  readonly commit: number;
}

/** A run at the end of the simulation. */
export interface EndedRun {
  readonly run: string;
  readonly at: RunContext;
  readonly head: HeadMeta;
  readonly program: Program;
  readonly state: State;
  readonly versions: readonly Version[];
  readonly last: Version;
}

/** Reads a whole run; reports checkpoints that cannot be read or whose hash chain is broken. */
export async function readRun(world: World, run: string): Promise<EndedRun | undefined> {
  const at = await contextFactory(world.truth.storage, { clock: () => world.timeline.now }).forRun(run);
  const { problems } = await verify(at);
  for (const { version, problem } of problems) world.addFinding(`checkpoint ${version} of run ${run}: ${problem}`);
  if (problems.length > 0) return undefined;
  const loaded = await loadCheckpoint(at);
  const versions: Version[] = [];
  for (const chain of await readChains(at)) versions.push(...(await readVersions(world, at, loaded, chain)));
  const program = versions[0]?.entries.get('@input')?.value as Program;
  const state = savedState(at, loaded) as State;
  return { run, at, head: loaded.head.meta, program, state, versions, last: versions.at(-1) as Version };
}

/** The program that a started run has as its input. */
export async function readProgram({ truth, timeline }: World, run: string): Promise<Program> {
  const at = await contextFactory(truth.storage, { clock: () => timeline.now }).forRun(run);
  const { '@input': input } = decodeResults(at, await loadCheckpoint(at, 1)) as Readonly<Record<string, Entry>>;
  return input?.value as Program;
}

type Chain = readonly [CheckpointRecord, ...CheckpointRecord[]];

/** Each anchor with the checkpoints that build on it. */
async function readChains(at: RunContext): Promise<readonly Chain[]> {
  const chains: [CheckpointRecord, ...CheckpointRecord[]][] = [];
  for await (const stored of scanRecords(at, CHECKPOINT_KEYS)) {
    const record = readCheckpoint(stored);
    if (record.meta.anchor === undefined) chains.push([record]);
    else chains.at(-1)?.push(record);
  }
  return chains;
}

async function readVersions(
  { truth }: World,
  at: RunContext,
  loaded: LoadedCheckpoint,
  chain: Chain,
): Promise<readonly Version[]> {
  const { snapshot, folded, patches } = await readParts(at, loaded.cipher, chain);
  let root = applyPatch(snapshot, folded.flat());
  return chain.map((record, i) => {
    if (i > 0) root = applyPatch(root, patches[i - 1] ?? []);
    const results = decodeResults(at, { ...loaded, root, record }) as Readonly<Record<string, Entry>>;
    return {
      version: record.version,
      kind: record.meta.kind,
      entries: new Map(Object.entries(results)),
      commit: truth.writtenBy.get(`${at.partition} ${record.stored.key}`) ?? 0,
    };
  });
}
