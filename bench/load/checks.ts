import { readFileSync } from 'node:fs';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import type { Client } from './client.ts';
import type { SavedRuns } from './mix.ts';
import type { Story } from './stories.ts';

/** The side effects that are wrong: each run must begin once, and end once as it was decided. */
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
    ...expected.filter((line) => !counted.has(line)).map((line) => `Missing effect: ${line}`),
    ...[...counted].flatMap(([line, times]) => (times > 1 ? [`Effect recorded ${times} times: ${line}`] : [])),
    ...lines.filter((line) => !wanted.has(line)).map((line) => `Unexpected effect: ${line}`),
  ];
}

/** The runs that are missing from the list of runs, listed twice, or listed though no client created them. */
export async function findWrongLists(
  client: Client,
  stories: readonly Story[],
  saved: SavedRuns,
): Promise<readonly string[]> {
  const found = new Map<string, number>();
  for (let cursor = ''; ; ) {
    const { status, json } = await client('all runs, 100 at a time', `/api/runs?limit=100${cursor}`);
    if (status !== 200) return [`Expected status 200 for a list of runs; found ${status}.`];
    for (const { run } of json.runs as { run: string }[]) found.set(run, (found.get(run) ?? 0) + 1);
    if (json.cursor === undefined) break;
    cursor = `&cursor=${encodeURIComponent(String(json.cursor))}`;
  }
  const known = new Set([...stories.map(({ run }) => run), ...saved.confirmed]);
  const isOurs = (run: string) => known.has(run) || /^saved-\d+$/.test(run);
  return [
    ...[...known].filter((run) => !found.has(run)).map((run) => `Run ${run} is missing from the list.`),
    ...[...found].filter(([, times]) => times > 1).map(([run, times]) => `Run ${run} is listed ${times} times.`),
    ...[...found.keys()].filter((run) => !isOurs(run)).map((run) => `Run ${run} is listed, but no client created it.`),
  ];
}

/** The runs with a broken hash chain, read from the folder of a stopped server. */
export async function findDamagedRuns(folder: string, runs: readonly string[]): Promise<readonly string[]> {
  const storage = embeddedStorage({ folder });
  const store = createCheckpointStore(storage);
  const damaged: string[] = [];
  for (const run of runs) {
    const { ok, problems } = await store.verify(run);
    if (!ok) damaged.push(`Run ${run} is damaged: ${problems.map(({ problem }) => problem).join('; ')}`);
  }
  await Promise.all([storage.records.close(), storage.payloads.close()]);
  return damaged;
}
