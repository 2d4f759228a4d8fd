import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { shown, table } from '../table.ts';
import { damagedRuns, wrongEffects, wrongLists } from './checks.ts';
import { clientOf } from './client.ts';
import { Latencies } from './latencies.ts';
import { type LoadedServer, startServer } from './local-server.ts';
import { MemoryWatch } from './memory.ts';
import { type Mixed, mix, requestsOf, SavedRuns } from './mix.ts';
import { tellStories } from './stories.ts';

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

type Row = readonly [what: string, mixed: Mixed];

/** Puts a local server of its own under load; gives what went wrong. */
export async function load(options: LoadOptions): Promise<readonly string[]> {
  const { print } = options;
  const folder = mkdtempSync(join(tmpdir(), 'waitstate-load-'));
  const effects = join(folder, 'effects.txt');
  writeFileSync(effects, '');
  const machine = `${cpus().length} cores, ${shown(totalmem() / 2 ** 30)} GB, load average ${shown(loadavg()[0])}`;
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
  server: LoadedServer,
  { stories: count, kindSeconds, mixSeconds, minutes, sampleMs, print }: LoadOptions,
  { folder, effects }: { readonly folder: string; readonly effects: string },
): Promise<readonly string[]> {
  const wrongs: string[] = [];
  const latencies = new Latencies();
  const client = clientOf(server, latencies);
  const watch = new MemoryWatch(server, sampleMs);
  const began = performance.now();
  const stories = await tellStories({ server, client, latencies, wrongs }, count, AT_ONCE);
  const seconds = (performance.now() - began) / 1000;
  const rate = `${shown(stories.length / seconds)} a second`;
  print(latencies.table(`${stories.length} stories in ${shown(seconds)} s, ${AT_ONCE} at a time: ${rate}.`));

  const saved = new SavedRuns();
  const requests = requestsOf(saved, stories);
  const alone: Row[] = [];
  for (const [what, { request, needs }] of Object.entries(requests))
    if (kindSeconds > 0 && !needs)
      alone.push([what, await mix(server, [request], { seconds: kindSeconds, connections: CONNECTIONS })]);
  if (alone.length > 0)
    print(tableOf(`One kind of request at a time, ${CONNECTIONS} connections, closed loop:`, alone));

  const all = Object.values(requests).map(({ request }) => request);
  const mixes: readonly Row[] = [
    ['as many as are answered', await mix(server, all, { seconds: mixSeconds, connections: CONNECTIONS })],
    [`${RATE} a second`, await mix(server, all, { seconds: minutes * 60, connections: CONNECTIONS, rate: RATE })],
  ];
  print(tableOf(`All kinds in turn, ${CONNECTIONS} connections:`, mixes));
  print(await watch.stop());

  for (const [what, { refused, failed }] of [...alone, ...mixes])
    if (refused + failed > 0) wrongs.push(`${what}: ${refused} refused, ${failed} without an answer.`);
  wrongs.push(...wrongEffects(effects, stories), ...(await wrongLists(client, stories, saved)), ...server.wrongs);
  await server.stop();
  const verified = [...stories.map(({ run }) => run), ...saved.answered].slice(0, MOST_VERIFIED);
  wrongs.push(...(await damagedRuns(folder, verified)));
  print(
    `${stories.length} of ${count} stories ended; ${saved.answered.size} runs were saved; ${verified.length} runs were verified.`,
  );
  return wrongs;
}

const tableOf = (sentence: string, rows: readonly Row[]): string =>
  table(
    sentence,
    ['', 'requests', 'a second', 'p50 ms', 'p90 ms', 'p99 ms', 'most ms'],
    rows.map(([what, { requests, perSecond, p50, p90, p99, most }]) => [
      what,
      requests,
      perSecond,
      p50,
      p90,
      p99,
      most,
    ]),
  );
