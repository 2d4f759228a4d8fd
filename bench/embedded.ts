import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkpointStore } from '../lambda/embedded.ts';
import { sqlitePeer } from './peers.ts';
import { waitstateSystem } from './systems.ts';
import { type Cell, formatBytes, formatTable, print } from './table.ts';
import { CONVERSATION, type Conversation } from './works.ts';

const TURNS = 200;

/** Prints how much disk space a conversation takes. */
export async function embeddedSize(withPeers: boolean): Promise<void> {
  const ours = await inTempFolder(converse);
  const peer = withPeers ? await inTempFolder(async (folder) => sqlitePeer(folder, 'conversation', TURNS)) : undefined;
  const rows: Cell[][] = [['Waitstate, embedded', formatBytes(ours.size), Math.round(TURNS / ours.seconds)]];
  if (peer) rows.push(['LangGraph, SQLite saver as shipped', formatBytes(peer.size), Math.round(TURNS / peer.seconds)]);
  print(
    formatTable(
      `The conversation on this machine's disk: the size of the folder after ${TURNS} turns.`,
      ['system', 'on disk', 'turns/s'],
      rows,
    ),
  );
}

/** Runs in a temporary folder; returns the result and the size of the folder at the end. */
export async function inTempFolder<T>(run: (folder: string) => Promise<T>): Promise<T & { readonly size: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'waitstate-bench-'));
  try {
    const result = await run(folder);
    return { ...result, size: await folderSize(folder) };
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

async function folderSize(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
