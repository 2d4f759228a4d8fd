import { readFileSync } from 'node:fs';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import type { Client } from './client.ts';
import type { SavedRuns } from './mix.ts';
import type { Story } from './stories.ts';

/** The effects that do not fit the stories: each was begun once, and ended once as it was decided. */
export function findWrongEffects(file: string, stories: readonly Story[]): readonly string[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const expected = stories.flatMap(({ run, ending }) => [
    `begin ${run}`,
    ...(ending === 'cancelled' ? [] : [`${ending} ${run}`]),
  ]);
  const counted = new Map<string, number>();
  for (const line of lines) counted.set(line, (counted.get(line) ?? 0) + 1);
  const wanted = new Set(expected);
  return [
    ...expected.filter((line) => !counted.has(line)).map((line) => `It was not done: ${line}`),
    ...[...counted].flatMap(([line, times]) => (times > 1 ? [`It was done ${times} times: ${line}`] : [])),
    ...lines.filter((line) => !wanted.has(line)).map((line) => `Nobody asked for it: ${line}`),
  ];
}

/** What is missing from the lists, or in them without a reason. */
export async function findWrongLists(
  client: Client,
  stories: readonly Story[],
  saved: SavedRuns,
): Promise<readonly string[]> {
  const found = new Map<string, number>();
  for (let cursor = ''; ; ) {
    const { status, json } = await client('all runs, 100 at a time', `/api/runs?limit=100${cursor}`);
    if (status !== 200) return [`A list was answered with ${status}.`];
    for (const { run } of json.runs as { run: string }[]) found.set(run, (found.get(run) ?? 0) + 1);
    if (json.cursor === undefined) break;
    cursor = `&cursor=${encodeURIComponent(String(json.cursor))}`;
  }
  const known = new Set([...stories.map(({ run }) => run), ...saved.confirmed]);
  const isOurs = (run: string) => known.has(run) || /^saved-\d+$/.test(run);
  return [
    ...[...known].filter((run) => !found.has(run)).map((run) => `Run ${run} is lost.`),
    ...[...found].filter(([, times]) => times > 1).map(([run, times]) => `Run ${run} is listed ${times} times.`),
    ...[...found.keys()].filter((run) => !isOurs(run)).map((run) => `Nobody started run ${run}.`),
  ];
}

/** Reads runs from the folder of a server that has stopped, every hash and what follows from what. */
export async function findDamagedRuns(folder: string, runs: readonly string[]): Promise<readonly string[]> {
  const storage = embeddedStorage({ folder });
  const store = createCheckpointStore(storage);
  const wrongs: string[] = [];
  for (const run of runs) {
    const { ok, problems } = await store.verify(run);
    if (!ok) wrongs.push(`Run ${run} is damaged: ${problems.map(({ problem }) => problem).join('; ')}`);
  }
  await Promise.all([storage.records.close(), storage.payloads.close()]);
  return wrongs;
}
