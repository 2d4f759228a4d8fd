import { checkpointStore } from '../lambda/memory.ts';
import { formatTable, median, print } from './table.ts';
import { measureCpuMs } from './trace.ts';
import { type Conversation, type Message, RUN, turnMessages } from './works.ts';

const ROUNDS = 5;

type Step = (messages: readonly Message[]) => Promise<unknown>;

export interface Cpu {
  readonly update100KB: number;
  readonly update10MB: number;
}

/** Prints the CPU time that our own code takes per step, on in-memory storage. */
export async function cpu(): Promise<Cpu> {
  // 1.25 KB a turn as JSON.
  const sizes = [
    { name: '100 KB', turns: 80, steps: 40 },
    { name: '10 MB', turns: 8_000, steps: 40 },
  ];
  const rows = [];
  const found = new Map<string, number>();
  for (const size of sizes) {
    for (const [name, begin] of Object.entries(WAYS_TO_SAVE)) {
      const { mean, typical, max } = await cpuPerStep(begin, size.turns, size.steps);
      rows.push([size.name, name, typical, mean, max]);
      found.set(`${size.name} ${name}`, mean);
    }
  }
  print(
    formatTable(
      `CPU time of our own code for a step that adds 1.2 KB to a state of that size, on in-memory storage: medians of ${ROUNDS} rounds.`,
      ['state', 'how', 'median step ms', 'mean step ms', 'largest step ms'],
      rows,
    ),
  );
  return { update100KB: found.get('100 KB update') ?? Number.NaN, update10MB: found.get('10 MB update') ?? Number.NaN };
}

/** The ways to save a state. Each starts a run and returns the function that does one step. */
const WAYS_TO_SAVE: Readonly<Record<string, (state: Conversation) => Promise<Step>>> = {
  async update(state) {
    const store = checkpointStore<Conversation>();
    await store.save({ run: RUN, state });
    return (messages) => store.update(RUN, (draft) => void draft.messages.push(...messages), { step: 'turn' });
  },
  async 'save, immutable'(state) {
    const store = checkpointStore<Conversation>();
    let last = await store.save({ run: RUN, state });
    return async (messages) => {
      const next = { ...last.state, messages: [...last.state.messages, ...messages] };
      last = await store.save({ run: RUN, expectedVersion: last, state: next, step: 'turn' });
    };
  },
  async 'save, mutated in place'(state) {
    const store = checkpointStore<Conversation>();
    let last = await store.save({ run: RUN, state });
    return async (messages) => {
      state.messages.push(...messages);
      last = await store.save({ run: RUN, expectedVersion: last, state, step: 'turn' });
    };
  },
};

async function cpuPerStep(begin: (state: Conversation) => Promise<Step>, turns: number, steps: number) {
  const rounds: { mean: number; typical: number; max: number }[] = [];
  // Round 0 warms up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    const step = await begin({ messages: Array.from({ length: turns }, (_, at) => turnMessages(at)).flat() });
    const spent: number[] = [];
    for (let n = 1; n <= steps; n++) {
      const messages = turnMessages(turns + n);
      spent.push(await measureCpuMs(() => step(messages)));
    }
    if (round > 0)
      rounds.push({ mean: spent.reduce((a, b) => a + b) / steps, typical: median(spent), max: Math.max(...spent) });
  }
  return {
    mean: median(rounds.map(({ mean }) => mean)),
    typical: median(rounds.map(({ typical }) => typical)),
    max: median(rounds.map(({ max }) => max)),
  };
}
