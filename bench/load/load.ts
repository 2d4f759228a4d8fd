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

/** How long and how hard to load the server. */
export interface LoadOptions {
  /** How many runs to take from start to end. */
  readonly stories: number;
  /** How long to send each kind of request alone; 0 to skip. */
  readonly kindSeconds: number;
  /** How long to send all kinds of requests in a closed loop. */
  readonly mixSeconds: number;
  /** How long to send all kinds of requests at a steady rate. */
  readonly minutes: number;
  /** How often to sample the memory of the server. */
  readonly sampleMs: number;
  readonly print: (text: string) => void;
}

const CONNECTIONS = 8;
const CONCURRENT_STORIES = 6;
const REQUESTS_PER_SECOND = 100;
const MAX_VERIFIED = 300;

type Row = readonly [what: string, result: LoadResult];

/** Starts a local server, puts it under load, and returns the problems it found. */
export async function load(options: LoadOptions): Promise<readonly string[]> {
  const { print } = options;
  const folder = mkdtempSync(join(tmpdir(), 'waitstate-load-'));
  const effects = join(folder, 'effects.txt');
  writeFileSync(effects, '');
  const machine = `${cpus().length} cores, ${formatNumber(totalmem() / 2 ** 30)} GB, load average ${formatNumber(loadavg()[0])}`;
  print(`Node ${process.version}, ${machine} before the start; the load generator runs on the same machine.`);
  const server = await startServer(folder, effects);
  try {
    const problems = await runLoad(server, options, { folder, effects });
    for (const problem of problems.slice(0, 20)) print(`PROBLEM: ${problem}`);
    print(
      problems.length === 0
        ? 'No errors; no run is lost, duplicated or damaged.'
        : `Found ${problems.length} problems.`,
    );
    return problems;
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runLoad(
  server: ServerUnderLoad,
  { stories: count, kindSeconds, mixSeconds, minutes, sampleMs, print }: LoadOptions,
  { folder, effects }: { readonly folder: string; readonly effects: string },
): Promise<readonly string[]> {
  const problems: string[] = [];
  const latencies = new Latencies();
  const client = createClient(server, latencies);
  const memory = new MemoryMonitor(server, sampleMs);
  const startedAt = performance.now();
  const stories = await runStories({ server, client, latencies, problems }, count, CONCURRENT_STORIES);
  const seconds = (performance.now() - startedAt) / 1000;
  const rate = `${formatNumber(stories.length / seconds)} a second`;
  print(
    latencies.table(
      `${stories.length} stories in ${formatNumber(seconds)} s, ${CONCURRENT_STORIES} at a time: ${rate}.`,
    ),
  );

  const saved = new SavedRuns();
  const requests = requestKinds(saved, stories);
  const alone: Row[] = [];
  for (const [what, { request, needsPrevious }] of Object.entries(requests))
    if (kindSeconds > 0 && !needsPrevious)
      alone.push([what, await sendLoad(server, [request], { seconds: kindSeconds, connections: CONNECTIONS })]);
  if (alone.length > 0)
    print(loadTable(`One kind of request at a time, ${CONNECTIONS} connections, closed loop:`, alone));

  const all = Object.values(requests).map(({ request }) => request);
  const mixes: readonly Row[] = [
    ['closed loop', await sendLoad(server, all, { seconds: mixSeconds, connections: CONNECTIONS })],
    [
      `${REQUESTS_PER_SECOND} a second`,
      await sendLoad(server, all, { seconds: minutes * 60, connections: CONNECTIONS, rate: REQUESTS_PER_SECOND }),
    ],
  ];
  print(loadTable(`All kinds in turn, ${CONNECTIONS} connections:`, mixes));
  print(await memory.stop());

  for (const [what, { refused, failed }] of [...alone, ...mixes])
    if (refused + failed > 0) problems.push(`${what}: ${refused} requests refused, ${failed} without a response.`);
  problems.push(
    ...findWrongEffects(effects, stories),
    ...(await findWrongLists(client, stories, saved)),
    ...server.problems,
  );
  await server.stop();
  const verified = [...stories.map(({ run }) => run), ...saved.confirmed].slice(0, MAX_VERIFIED);
  problems.push(...(await findDamagedRuns(folder, verified)));
  print(
    `${stories.length} of ${count} stories ended; ${saved.confirmed.size} runs were saved; ${verified.length} runs were verified.`,
  );
  return problems;
}

const loadTable = (sentence: string, rows: readonly Row[]): string =>
  formatTable(
    sentence,
    ['', 'requests', 'per second', 'p50 ms', 'p90 ms', 'p99 ms', 'max ms'],
    rows.map(([what, { requests, perSecond, p50, p90, p99, max }]) => [what, requests, perSecond, p50, p90, p99, max]),
  );
