import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkpointStore } from '../lambda/embedded.ts';
import { sqlitePeer } from './peers.ts';
import { ours } from './systems.ts';
import { bytes, type Cell, median, print, shown, table } from './table.ts';
import { CONVERSATION, type Conversation, freshText, RUN } from './works.ts';

const ROUNDS = 3;
const TURNS = 200;

export interface Embedded {
  /** Our synced steps per second, those of the bare disk, and those of the peer that syncs. */
  readonly ours: number;
  readonly floor: number;
  readonly peer?: number;
}

/** Prints what the embedded store does on this disk, beside the disk itself and the peer. */
export async function embedded(steps: number, withPeers: boolean): Promise<Embedded> {
  const results = Array.from({ length: steps }, (_, at) => freshText(at, 114));
  const kinds = [
    { name: 'bare append + fdatasync', synced: 'yes', run: (folder: string) => appendSynced(folder, results) },
    { name: 'Holdpoint, embedded', synced: 'yes', run: (folder: string) => saveSynced(folder, results) },
    ...(withPeers
      ? [
          {
            name: 'LangGraph loop, SQLite saver, synchronous=FULL',
            synced: 'yes',
            run: (folder: string) => sqlitePeer(folder, 'steps-full', steps),
          },
          {
            name: 'LangGraph loop, SQLite saver as shipped',
            synced: 'no',
            run: (folder: string) => sqlitePeer(folder, 'steps', steps),
          },
        ]
      : []),
  ];
  const rates = kinds.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, { run }] of kinds.entries()) rates[at]?.push(steps / (await inFolder(run)).seconds);
  }
  const medians = rates.map(median);
  const [floor = Number.NaN, mine = Number.NaN, peer] = medians;
  print(
    table(
      `Steps per second on this machine's disk: ${steps} sequential steps with a result of 1 KB, medians of ${ROUNDS} interleaved rounds.`,
      ['system', 'steps/s', 'of the bare disk', 'synced when the step returns', 'rounds'],
      kinds.map(({ name, synced }, at): Cell[] => [
        name,
        Math.round(medians[at] ?? 0),
        `${shown(Math.round(((medians[at] ?? 0) / floor) * 100))} %`,
        synced,
        (rates[at] ?? []).map((rate) => shown(Math.round(rate))).join(' '),
      ]),
    ),
  );
  await printSize(withPeers);
  return { ours: mine, floor, ...(peer !== undefined && { peer }) };
}

async function printSize(withPeers: boolean): Promise<void> {
  const mine = await inFolder(converse);
  const peer = withPeers ? await inFolder((folder) => sqlitePeer(folder, 'conversation', TURNS)) : undefined;
  const rows: Cell[][] = [['Holdpoint, embedded', bytes(mine.size), Math.round(TURNS / mine.seconds)]];
  if (peer) rows.push(['LangGraph, SQLite saver as shipped', bytes(peer.size), Math.round(TURNS / peer.seconds)]);
  print(
    table(
      `The conversation on this machine's disk: all that is in the folder after ${TURNS} turns.`,
      ['system', 'on disk', 'turns/s'],
      rows,
    ),
  );
}

/**
 * Runs in a folder of its own and says how many seconds it took, by the clock or by its own, and what it left on disk.
 */
async function inFolder(run: (folder: string) => Promise<number | void>): Promise<{ seconds: number; size: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-bench-'));
  try {
    const before = performance.now();
    const own = await run(folder);
    const seconds = own ?? (performance.now() - before) / 1000;
    return { seconds, size: await sizeOf(folder) };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function appendSynced(folder: string, results: readonly string[]): Promise<void> {
  const file = openSync(join(folder, 'log'), 'a');
  for (const result of results) {
    writeSync(file, `${result}\n`);
    fdatasyncSync(file);
  }
  closeSync(file);
}

async function saveSynced(folder: string, results: readonly string[]): Promise<number> {
  const store = checkpointStore<{ done: number }>({ folder });
  let last = await store.save({ run: RUN, state: { done: 0 } });
  const before = performance.now();
  for (const [at, result] of results.entries()) {
    last = await store.save({ run: RUN, expectedVersion: last, step: 'work', toolResults: { [`call-${at}`]: result } });
  }
  const seconds = (performance.now() - before) / 1000;
  await store.close();
  return seconds;
}

async function converse(folder: string): Promise<number> {
  const store = checkpointStore<Conversation>({ folder });
  const system = ours(store, CONVERSATION);
  const before = performance.now();
  for (let turn = 1; turn <= TURNS; turn++) await system.step(turn)();
  const seconds = (performance.now() - before) / 1000;
  await store.close();
  return seconds;
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
