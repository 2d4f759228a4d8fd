import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkpointStore } from '../lambda/embedded.ts';
import { sqlitePeer } from './peers.ts';
import { waitstateSystem } from './systems.ts';
import { type Cell, formatBytes, formatTable, print } from './table.ts';
import { CONVERSATION, type Conversation } from './works.ts';

const TURNS = 200;

/** Prints what a conversation leaves on this disk. */
export async function embeddedSize(withPeers: boolean): Promise<void> {
  const mine = await inTempFolder(converse);
  const peer = withPeers ? await inTempFolder(async (folder) => sqlitePeer(folder, 'conversation', TURNS)) : undefined;
  const rows: Cell[][] = [['Waitstate, embedded', formatBytes(mine.size), Math.round(TURNS / mine.seconds)]];
  if (peer) rows.push(['LangGraph, SQLite saver as shipped', formatBytes(peer.size), Math.round(TURNS / peer.seconds)]);
  print(
    formatTable(
      `The conversation on this machine's disk: all that is in the folder after ${TURNS} turns.`,
      ['system', 'on disk', 'turns/s'],
      rows,
    ),
  );
}

/** Runs in a folder of its own; gives what that gives, and what it left on disk. */
export async function inTempFolder<T>(run: (folder: string) => Promise<T>): Promise<T & { readonly size: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'waitstate-bench-'));
  try {
    const made = await run(folder);
    return { ...made, size: await sizeOf(folder) };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function converse(folder: string): Promise<{ readonly seconds: number }> {
  const store = checkpointStore<Conversation>({ folder });
  const system = waitstateSystem(store, CONVERSATION);
  const before = performance.now();
  for (let turn = 1; turn <= TURNS; turn++) await system.step(turn)();
  const seconds = (performance.now() - before) / 1000;
  await store.close();
  return { seconds };
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
