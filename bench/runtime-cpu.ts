import { type AgentContext, agent } from '../lambda/index.ts';
import { memoryStorage } from '../lambda/storage/memory.ts';
import { invoke } from './open-runtime.ts';
import { stepResult } from './runtime-steps.ts';
import { formatTable, median, print } from './table.ts';
import { measureCpuMs } from './trace.ts';
import { waitingAgent } from './waking-costs.ts';
import { type Conversation, RUN, turnMessages } from './works.ts';

const ROUNDS = 5;
const MEASURED = 40;
// A turn is 1.25 KB as JSON.
const TURNS_100KB = 80;

/** CPU milliseconds per `ctx.step`, with 100 KB of state and with 1,000 recorded steps. */
export interface RuntimeCpu {
  readonly step100KB: number;
  readonly step1000: number;
}

/** Prepares operation n; only the returned function is measured. */
type Step = (ctx: AgentContext<Conversation>, n: number) => () => Promise<unknown>;

const callTool: Step = (ctx, n) => {
  const result = stepResult(n);
  return () => ctx.step('call tool', () => result);
};
const update: Step = (ctx, n) => {
  const messages = turnMessages(n);
  return () => ctx.update((draft) => void draft.messages.push(...messages));
};

/** Prints the runtime's own CPU time per step and per replay, on in-memory storage with the inline limits of DynamoDB. */
export async function runtimeCpu(): Promise<RuntimeCpu> {
  const small = await cpuPerStep(callTool, { turns: 0, recorded: 0 });
  const large = await cpuPerStep(callTool, { turns: TURNS_100KB, recorded: 0 });
  const updated = await cpuPerStep(update, { turns: TURNS_100KB, recorded: 0 });
  const thousand = await cpuPerStep(callTool, { turns: 0, recorded: 1_000 });
  const thousands = await cpuPerStep(callTool, { turns: 0, recorded: 5_000 });
  print(
    formatTable(
      `The runtime's own CPU time for an operation of 1 KB, on in-memory storage: ${MEASURED} operations each, medians of ${ROUNDS} rounds.`,
      ['run', 'operation', 'median ms', 'mean ms', 'largest ms'],
      [
        ['new', 'step', ...cells(small)],
        ['100 KB of state', 'step', ...cells(large)],
        ['100 KB of state', 'update', ...cells(updated)],
        ['1,000 recorded steps', 'step', ...cells(thousand)],
        ['5,000 recorded steps', 'step', ...cells(thousands)],
      ],
    ),
  );
  const replays = [];
  for (const steps of [10, 1_000, 5_000]) replays.push([steps, await replayCpu(steps)]);
  print(
    formatTable(
      `The runtime's own CPU time for a resume in a new process: claim, hydrate and replay of steps of 1 KB; medians of ${ROUNDS} rounds.`,
      ['recorded steps', 'ms'],
      replays,
    ),
  );
  return { step100KB: large.mean, step1000: thousand.mean };
}

interface PerStep {
  readonly typical: number;
  readonly mean: number;
  readonly max: number;
}

const cells = ({ typical, mean, max }: PerStep) => [typical, mean, max];

async function cpuPerStep(step: Step, { turns, recorded }: { turns: number; recorded: number }): Promise<PerStep> {
  const messages = Array.from({ length: turns }, (_, at) => turnMessages(at)).flat();
  const rounds: PerStep[] = [];
  // Round 0 warms up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    const spent: number[] = [];
    const measured = agent(
      {
        name: 'measured',
        state: { initial: (): Conversation => ({ messages: [...messages] }) },
        async run(ctx) {
          for (let n = 1; n <= recorded; n++) await callTool(ctx, n)();
          for (let n = 1; n <= MEASURED; n++) spent.push(await measureCpuMs(step(ctx, recorded + turns + n)));
        },
      },
      { storage: memoryStorage(), log: () => {} },
    );
    await measured.start({}, { id: RUN });
    await invoke(measured, 'finished');
    const mean = spent.reduce((a, b) => a + b) / spent.length;
    if (round > 0) rounds.push({ mean, typical: median(spent), max: Math.max(...spent) });
  }
  const medianOf = (field: keyof PerStep) => median(rounds.map((each) => each[field]));
  return { typical: medianOf('typical'), mean: medianOf('mean'), max: medianOf('max') };
}

async function replayCpu(steps: number): Promise<number> {
  const storage = memoryStorage();
  const open = (resumed?: () => Promise<void>) => waitingAgent(steps, resumed).with({ storage, log: () => {} });
  const spent: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const run = `${RUN}-${round}`;
    await open().start({}, { id: run });
    await invoke(open(), 'suspended', run);
    await open().run(run).signal('go');
    const before = process.cpuUsage();
    const resumed = async () => {
      const { user, system } = process.cpuUsage(before);
      if (round > 0) spent.push((user + system) / 1000);
    };
    await invoke(open(resumed), 'finished', run);
  }
  return median(spent);
}
