import { fileURLToPath } from 'node:url';
import { inTempFolder } from './embedded.ts';
import { durablePeer, type Peers, runProgram, sqlitePeer, type Times } from './peers.ts';
import { type Cell, formatNumber, formatTable, median, print } from './table.ts';

const ROUNDS = 3;

/** Synced steps per second of our store and runtime, relative to the bare disk and to the best peer that syncs. */
export interface DurableSteps {
  readonly storeOfBare: number;
  readonly runtimeOfBare: number;
  readonly storeOfPeer?: number;
  readonly runtimeOfPeer?: number;
}

interface StepSystem {
  readonly name: string;
  /** Whether a step is on the disk when its result is returned to the caller. */
  readonly isSynced: boolean;
  /** How it resumes. */
  readonly resumes?: string;
  run(folder: string, steps: number): Promise<Times>;
}

const PROGRAM = fileURLToPath(new URL('./steps-on-disk.ts', import.meta.url));
const runOnDisk = (work: string) => async (folder: string, steps: number) => runProgram(PROGRAM, folder, work, steps);

const BARE: StepSystem = { name: 'bare append + fdatasync', isSynced: true, run: runOnDisk('bare') };
const STORE: StepSystem = {
  name: 'Waitstate, store',
  isSynced: true,
  resumes: 'loads the last checkpoint',
  run: runOnDisk('store'),
};
const RUNTIME: StepSystem = {
  name: 'Waitstate, runtime',
  isSynced: true,
  resumes: 'claims and replays',
  run: runOnDisk('runtime'),
};

const SYNCED_PEER: StepSystem = {
  name: 'LangGraph loop, SQLite saver, synchronous=FULL',
  isSynced: true,
  resumes: 'loads the last checkpoint',
  run: async (folder, steps) => sqlitePeer(folder, 'steps-full', steps),
};
const LANGGRAPH: readonly StepSystem[] = [
  SYNCED_PEER,
  {
    name: 'LangGraph loop, SQLite saver as shipped',
    isSynced: false,
    resumes: 'loads the last checkpoint',
    run: async (folder, steps) => sqlitePeer(folder, 'steps', steps),
  },
  {
    name: 'LangGraph function, SQLite saver as shipped',
    isSynced: false,
    resumes: 'replays',
    run: async (folder, steps) => sqlitePeer(folder, 'function', steps),
  },
];

const DURABLE: readonly StepSystem[] = [
  {
    name: 'AWS durable SDK, client in memory',
    isSynced: false,
    resumes: 'replays',
    run: async (folder, steps) => durablePeer(folder, 'memory', steps),
  },
  {
    name: 'AWS durable SDK, its local test runner',
    isSynced: false,
    resumes: 'replays',
    run: async (folder, steps) => durablePeer(folder, 'runner', steps),
  },
];

/** Prints how many durable steps per second this disk allows, and how fast a run with that many steps resumes. */
export async function durableSteps(steps: number, peers: Peers): Promise<DurableSteps> {
  const systems = [BARE, STORE, RUNTIME, ...(peers.hasSqlite ? LANGGRAPH : []), ...(peers.hasDurable ? DURABLE : [])];
  const times = new Map(systems.map((system): [StepSystem, Times[]] => [system, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [system, taken] of times) taken.push(await inTempFolder((folder) => system.run(folder, steps)));
  }
  const timesOf = (system: StepSystem, of: (taken: Times) => number) => (times.get(system) ?? []).map(of);
  const ratesOf = (system: StepSystem) => timesOf(system, ({ seconds }) => steps / seconds);
  // Within a round, because other load on the disk slows down all systems.
  const ratio = (system: StepSystem, to: StepSystem) =>
    median(ratesOf(system).map((rate, round) => rate / (ratesOf(to)[round] ?? Number.NaN)));
  print(
    formatTable(
      `Steps per second on this machine's disk: ${steps} sequential steps with a result of 1 KB, each system in a new process, medians of ${ROUNDS} interleaved rounds and of the ratios within them; and how long it takes to resume when all of them are recorded.`,
      [
        'system',
        'steps/s',
        'of bare',
        'synced when the step returns?',
        'CPU ms/step',
        'resume ms',
        'how it resumes',
        'rounds',
      ],
      systems.map((system): Cell[] => [
        system.name,
        Math.round(median(ratesOf(system))),
        `${formatNumber(Math.round(ratio(system, BARE) * 100))} %`,
        system.isSynced ? 'yes' : 'no',
        median(timesOf(system, ({ cpuMs }) => cpuMs / steps)),
        system.resumes && median(timesOf(system, ({ resumeMs = Number.NaN }) => resumeMs)),
        system.resumes,
        ratesOf(system)
          .map((rate) => formatNumber(Math.round(rate)))
          .join(' '),
      ]),
    ),
  );
  const ofBare = { storeOfBare: ratio(STORE, BARE), runtimeOfBare: ratio(RUNTIME, BARE) };
  if (!peers.hasSqlite) return ofBare;
  return { ...ofBare, storeOfPeer: ratio(STORE, SYNCED_PEER), runtimeOfPeer: ratio(RUNTIME, SYNCED_PEER) };
}
