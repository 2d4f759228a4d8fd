import { fileURLToPath } from 'node:url';
import { inFolder } from './embedded.ts';
import { durablePeer, inProcess, type Peers, sqlitePeer, type Times } from './peers.ts';
import { type Cell, median, print, shown, table } from './table.ts';

const ROUNDS = 3;

export interface DurableSteps {
  /** Synced steps per second: of the bare disk, of our store, of our runtime, and of the best peer that syncs. */
  readonly floor: number;
  readonly store: number;
  readonly runtime: number;
  readonly peer?: number;
}

interface Kind {
  readonly name: string;
  /** Whether a step is on the disk when its result is given to the caller. */
  readonly synced: boolean;
  readonly resumes?: string;
  run(folder: string, steps: number): Promise<Times>;
}

const PROGRAM = fileURLToPath(new URL('./steps-on-disk.ts', import.meta.url));
const onDisk = (work: string) => async (folder: string, steps: number) => inProcess(PROGRAM, folder, work, steps);

const BARE: Kind = { name: 'bare append + fdatasync', synced: true, run: onDisk('bare') };
const STORE: Kind = {
  name: 'Holdpoint, store',
  synced: true,
  resumes: 'loads the last checkpoint',
  run: onDisk('store'),
};
const RUNTIME: Kind = {
  name: 'Holdpoint, runtime',
  synced: true,
  resumes: 'claims and replays',
  run: onDisk('runtime'),
};

const LANGGRAPH: readonly Kind[] = [
  {
    name: 'LangGraph loop, SQLite saver, synchronous=FULL',
    synced: true,
    resumes: 'loads the last checkpoint',
    run: async (folder, steps) => sqlitePeer(folder, 'steps-full', steps),
  },
  {
    name: 'LangGraph loop, SQLite saver as shipped',
    synced: false,
    resumes: 'loads the last checkpoint',
    run: async (folder, steps) => sqlitePeer(folder, 'steps', steps),
  },
  {
    name: 'LangGraph function, SQLite saver as shipped',
    synced: false,
    resumes: 'replays',
    run: async (folder, steps) => sqlitePeer(folder, 'function', steps),
  },
];

const DURABLE: readonly Kind[] = [
  {
    name: 'AWS durable SDK, client in memory',
    synced: false,
    resumes: 'replays',
    run: async (folder, steps) => durablePeer(folder, 'memory', steps),
  },
  {
    name: 'AWS durable SDK, its local test runner',
    synced: false,
    resumes: 'replays',
    run: async (folder, steps) => durablePeer(folder, 'runner', steps),
  },
];

/** Prints how many durable steps a second this disk takes, and how fast a run of them is gone on with. */
export async function durableSteps(steps: number, peers: Peers): Promise<DurableSteps> {
  const kinds = [BARE, STORE, RUNTIME, ...(peers.sqlite ? LANGGRAPH : []), ...(peers.durable ? DURABLE : [])];
  const times = new Map(kinds.map((kind): [Kind, Times[]] => [kind, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [kind, taken] of times) taken.push(await inFolder((folder) => kind.run(folder, steps)));
  }
  const ratesOf = (kind: Kind) => (times.get(kind) ?? []).map(({ seconds }) => steps / seconds);
  const rateOf = (kind: Kind) => median(ratesOf(kind));
  print(
    table(
      `Steps per second on this machine's disk: ${steps} sequential steps with a result of 1 KB, medians of ${ROUNDS} interleaved rounds; and how long it takes to go on when all of them are recorded.`,
      ['system', 'steps/s', 'of the bare disk', 'synced when the step returns?', 'resume ms', 'by what', 'rounds'],
      kinds.map((kind): Cell[] => [
        kind.name,
        Math.round(rateOf(kind)),
        `${shown(Math.round((rateOf(kind) / rateOf(BARE)) * 100))} %`,
        kind.synced ? 'yes' : 'no',
        kind.resumes && median((times.get(kind) ?? []).map(({ resumeMs = Number.NaN }) => resumeMs)),
        kind.resumes,
        ratesOf(kind)
          .map((rate) => shown(Math.round(rate)))
          .join(' '),
      ]),
    ),
  );
  const peer = peers.sqlite ? { peer: Math.max(...LANGGRAPH.filter(({ synced }) => synced).map(rateOf)) } : {};
  return { floor: rateOf(BARE), store: rateOf(STORE), runtime: rateOf(RUNTIME), ...peer };
}
