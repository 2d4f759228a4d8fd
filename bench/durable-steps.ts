import { fileURLToPath } from 'node:url';
import { inTempFolder } from './embedded.ts';
import { durablePeer, type Peers, runProgram, sqlitePeer, type Times } from './peers.ts';
import { type Cell, formatNumber, formatTable, median, print } from './table.ts';

const ROUNDS = 3;

/** Of our store and of our runtime: synced steps per second, of those of the bare disk and of the best peer that syncs. */
export interface DurableSteps {
  readonly storeOfBare: number;
  readonly runtimeOfBare: number;
  readonly storeOfPeer?: number;
  readonly runtimeOfPeer?: number;
}

interface Kind {
  readonly name: string;
  /** Whether a step is on the disk when its result is given to the caller. */
  readonly synced: boolean;
  readonly resumes?: string;
  run(folder: string, steps: number): Promise<Times>;
}

const PROGRAM = fileURLToPath(new URL('./steps-on-disk.ts', import.meta.url));
const onDisk = (work: string) => async (folder: string, steps: number) => runProgram(PROGRAM, folder, work, steps);

const BARE: Kind = { name: 'bare append + fdatasync', synced: true, run: onDisk('bare') };
const STORE: Kind = {
  name: 'Waitstate, store',
  synced: true,
  resumes: 'loads the last checkpoint',
  run: onDisk('store'),
};
const RUNTIME: Kind = {
  name: 'Waitstate, runtime',
  synced: true,
  resumes: 'claims and replays',
  run: onDisk('runtime'),
};

const SYNCED_PEER: Kind = {
  name: 'LangGraph loop, SQLite saver, synchronous=FULL',
  synced: true,
  resumes: 'loads the last checkpoint',
  run: async (folder, steps) => sqlitePeer(folder, 'steps-full', steps),
};
const LANGGRAPH: readonly Kind[] = [
  SYNCED_PEER,
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
  const kinds = [BARE, STORE, RUNTIME, ...(peers.hasSqlite ? LANGGRAPH : []), ...(peers.hasDurable ? DURABLE : [])];
  const times = new Map(kinds.map((kind): [Kind, Times[]] => [kind, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [kind, taken] of times) taken.push(await inTempFolder((folder) => kind.run(folder, steps)));
  }
  const timesOf = (kind: Kind, of: (taken: Times) => number) => (times.get(kind) ?? []).map(of);
  const ratesOf = (kind: Kind) => timesOf(kind, ({ seconds }) => steps / seconds);
  // Within a round, because what else the machine does to the disk meanwhile slows down all of them.
  const ratio = (kind: Kind, to: Kind) =>
    median(ratesOf(kind).map((rate, round) => rate / (ratesOf(to)[round] ?? Number.NaN)));
  print(
    formatTable(
      `Steps per second on this machine's disk: ${steps} sequential steps with a result of 1 KB, each system in a new process, medians of ${ROUNDS} interleaved rounds and of the ratios within them; and how long it takes to go on when all of them are recorded.`,
      [
        'system',
        'steps/s',
        'of bare',
        'synced when the step returns?',
        'CPU ms/step',
        'resume ms',
        'by what',
        'rounds',
      ],
      kinds.map((kind): Cell[] => [
        kind.name,
        Math.round(median(ratesOf(kind))),
        `${formatNumber(Math.round(ratio(kind, BARE) * 100))} %`,
        kind.synced ? 'yes' : 'no',
        median(timesOf(kind, ({ cpuMs }) => cpuMs / steps)),
        kind.resumes && median(timesOf(kind, ({ resumeMs = Number.NaN }) => resumeMs)),
        kind.resumes,
        ratesOf(kind)
          .map((rate) => formatNumber(Math.round(rate)))
          .join(' '),
      ]),
    ),
  );
  const ofBare = { storeOfBare: ratio(STORE, BARE), runtimeOfBare: ratio(RUNTIME, BARE) };
  if (!peers.hasSqlite) return ofBare;
  return { ...ofBare, storeOfPeer: ratio(STORE, SYNCED_PEER), runtimeOfPeer: ratio(RUNTIME, SYNCED_PEER) };
}
