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

/** Prints our own CPU per step, on storage in memory. */
export async function cpu(): Promise<Cpu> {
  // 1.25 KB a turn as JSON.
  const sizes = [
    { name: '100 KB', turns: 80, steps: 40 },
    { name: '10 MB', turns: 8_000, steps: 40 },
  ];
  const rows = [];
  const found = new Map<string, number>();
  for (const size of sizes) {
    for (const [name, begin] of Object.entries(WAYS)) {
      const { mean, middle, most } = await perStep(begin, size.turns, size.steps);
      rows.push([size.name, name, middle, mean, most]);
      found.set(`${size.name} ${name}`, mean);
    }
  }
  print(
    formatTable(
      `Our own CPU for a step that adds 1.2 KB to a state of that size, storage in memory: medians of ${ROUNDS} rounds.`,
      ['state', 'how', 'median step ms', 'mean step ms', 'largest step ms'],
      rows,
    ),
  );
  return { update100KB: found.get('100 KB update') ?? Number.NaN, update10MB: found.get('10 MB update') ?? Number.NaN };
}

/** The ways to hand over a state: each begins a run and returns what one step does. */
const WAYS: Readonly<Record<string, (state: Conversation) => Promise<Step>>> = {
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

async function perStep(begin: (state: Conversation) => Promise<Step>, turns: number, steps: number) {
  const rounds: { mean: number; middle: number; most: number }[] = [];
  // The first round warms up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    const step = await begin({ messages: Array.from({ length: turns }, (_, at) => turnMessages(at)).flat() });
    const spent: number[] = [];
    for (let n = 1; n <= steps; n++) {
      const messages = turnMessages(turns + n);
      spent.push(await measureCpuMs(() => step(messages)));
    }
    if (round > 0)
      rounds.push({ mean: spent.reduce((a, b) => a + b) / steps, middle: median(spent), most: Math.max(...spent) });
  }
  return {
    mean: median(rounds.map(({ mean }) => mean)),
    middle: median(rounds.map(({ middle }) => middle)),
    most: median(rounds.map(({ most }) => most)),
  };
}
