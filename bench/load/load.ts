import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { formatNumber, formatTable } from '../table.ts';
import { findDamagedRuns, findWrongEffects, findWrongLists } from './checks.ts';
import { createClient } from './client.ts';
import { Latencies } from './latencies.ts';
import { type ServerUnderLoad, startServer } from './local-server.ts';
import { MemoryMonitor } from './memory.ts';
import { type LoadResult, requestKinds, SavedRuns, sendLoad } from './mix.ts';
import { runStories } from './stories.ts';

export interface LoadOptions {
  /** How many runs go from their start to their end. */
  readonly stories: number;
  /** How long each kind of request is sent alone; 0 leaves that out. */
  readonly kindSeconds: number;
  /** How long all kinds are sent as fast as they are answered. */
  readonly mixSeconds: number;
  /** How long all kinds are sent at a steady rate. */
  readonly minutes: number;
  /** How often the memory of the server is looked at. */
  readonly sampleMs: number;
  readonly print: (text: string) => void;
}

const CONNECTIONS = 8;
const AT_ONCE = 6;
const RATE = 100;
const MOST_VERIFIED = 300;

type Row = readonly [what: string, mixed: LoadResult];

/** Puts a local server of its own under load; gives what went wrong. */
export async function load(options: LoadOptions): Promise<readonly string[]> {
  const { print } = options;
  const folder = mkdtempSync(join(tmpdir(), 'waitstate-load-'));
  const effects = join(folder, 'effects.txt');
  writeFileSync(effects, '');
  const machine = `${cpus().length} cores, ${formatNumber(totalmem() / 2 ** 30)} GB, load average ${formatNumber(loadavg()[0])}`;
  print(`Node ${process.version}, ${machine} before it begins; the load is made on the same machine.`);
  const server = await startServer(folder, effects);
  try {
    const wrongs = await underLoad(server, options, { folder, effects });
    for (const wrong of wrongs.slice(0, 20)) print(`WRONG: ${wrong}`);
    print(wrongs.length === 0 ? 'No error; no run is lost, doubled or damaged.' : `${wrongs.length} things are wrong.`);
    return wrongs;
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function underLoad(
  server: ServerUnderLoad,
  { stories: count, kindSeconds, mixSeconds, minutes, sampleMs, print }: LoadOptions,
  { folder, effects }: { readonly folder: string; readonly effects: string },
): Promise<readonly string[]> {
  const wrongs: string[] = [];
  const latencies = new Latencies();
  const client = createClient(server, latencies);
  const watch = new MemoryMonitor(server, sampleMs);
  const began = performance.now();
  const stories = await runStories({ server, client, latencies, wrongs }, count, AT_ONCE);
  const seconds = (performance.now() - began) / 1000;
  const rate = `${formatNumber(stories.length / seconds)} a second`;
  print(latencies.table(`${stories.length} stories in ${formatNumber(seconds)} s, ${AT_ONCE} at a time: ${rate}.`));

  const saved = new SavedRuns();
  const requests = requestKinds(saved, stories);
  const alone: Row[] = [];
  for (const [what, { request, needs }] of Object.entries(requests))
    if (kindSeconds > 0 && !needs)
      alone.push([what, await sendLoad(server, [request], { seconds: kindSeconds, connections: CONNECTIONS })]);
  if (alone.length > 0)
    print(tableOf(`One kind of request at a time, ${CONNECTIONS} connections, closed loop:`, alone));

  const all = Object.values(requests).map(({ request }) => request);
  const mixes: readonly Row[] = [
    ['as many as are answered', await sendLoad(server, all, { seconds: mixSeconds, connections: CONNECTIONS })],
    [`${RATE} a second`, await sendLoad(server, all, { seconds: minutes * 60, connections: CONNECTIONS, rate: RATE })],
  ];
  print(tableOf(`All kinds in turn, ${CONNECTIONS} connections:`, mixes));
  print(await watch.stop());

  for (const [what, { refused, failed }] of [...alone, ...mixes])
    if (refused + failed > 0) wrongs.push(`${what}: ${refused} refused, ${failed} without an answer.`);
  wrongs.push(
    ...findWrongEffects(effects, stories),
    ...(await findWrongLists(client, stories, saved)),
    ...server.problems,
  );
  await server.stop();
  const verified = [...stories.map(({ run }) => run), ...saved.confirmed].slice(0, MOST_VERIFIED);
  wrongs.push(...(await findDamagedRuns(folder, verified)));
  print(
    `${stories.length} of ${count} stories ended; ${saved.confirmed.size} runs were saved; ${verified.length} runs were verified.`,
  );
  return wrongs;
}

const tableOf = (sentence: string, rows: readonly Row[]): string =>
  formatTable(
    sentence,
    ['', 'requests', 'a second', 'p50 ms', 'p90 ms', 'p99 ms', 'most ms'],
    rows.map(([what, { requests, perSecond, p50, p90, p99, max: most }]) => [
      what,
      requests,
      perSecond,
      p50,
      p90,
      p99,
      most,
    ]),
  );
