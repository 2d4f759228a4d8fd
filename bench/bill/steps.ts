import { agent } from '../../lambda/index.ts';
import { type Counts, NO_COUNTS, since } from '../counts.ts';
import { invoke, runtimePlace } from '../runtime-place.ts';
import { dynamoStore, ours } from '../systems.ts';
import type { Wire } from '../wire.ts';
import { CONVERSATION, type Conversation, freshText, RUN, turn } from '../works.ts';

/** What a number of steps used, in the middle of a run. */
export interface Steps {
  readonly steps: number;
  /** Bytes that each step returned or added. */
  readonly resultBytes: number;
  readonly counts: Counts;
}

export interface StepUnits {
  /** `ctx.step` with a result of 1 KB and of 20 KB. */
  readonly small: Steps;
  readonly large: Steps;
  /** A turn that adds 1.2 KB of text to its state. */
  readonly turn: Steps;
  /** The same with the store alone. */
  readonly update: Steps;
}

const LONG = 1_000;
const SHORT = 60;

/** Counts steps of each kind on the wire, from the middle of a run to its end. */
export async function stepUnits(wire: Wire): Promise<StepUnits> {
  return {
    small: await runtimeSteps(wire, LONG, 114),
    large: await runtimeSteps(wire, SHORT, 2222),
    turn: await turns(wire, LONG),
    update: await updates(wire, LONG),
  };
}

/** Counts the second half of the steps. */
function fromTheMiddle(wire: Wire, steps: number, groups: number) {
  let middle = NO_COUNTS;
  return {
    async before(step: number): Promise<void> {
      if (step === steps / 2 + 1) middle = await wire.counts();
    },
    taken: async (): Promise<Steps> => ({
      ...{ steps: steps / 2, resultBytes: freshText(1, groups).length },
      counts: since(middle, await wire.counts()),
    }),
  };
}

async function runtimeSteps(wire: Wire, count: number, groups: number): Promise<Steps> {
  const { before, taken } = fromTheMiddle(wire, count, groups);
  let found: Steps | undefined;
  const calls = (await runtimePlace(wire))(
    agent({
      name: 'calls',
      async run(ctx) {
        for (let n = 1; n <= count; n++) {
          await before(n);
          await ctx.step('call tool', () => freshText(n, groups));
        }
        found = await taken();
      },
    }),
  );
  await calls.start({}, { id: RUN });
  await invoke(calls, 'finished');
  return ended(found);
}

async function turns(wire: Wire, count: number): Promise<Steps> {
  const { before, taken } = fromTheMiddle(wire, count, 2 * 66);
  let n = 0;
  let found: Steps | undefined;
  const talks = (await runtimePlace(wire))(
    agent({
      name: 'talks',
      state: { initial: (): Conversation => ({ messages: [] }) },
      async turn(ctx, state: Conversation) {
        n += 1;
        await before(n);
        // The last turn is written in one checkpoint with the end of the run.
        if (n <= count) return { messages: [...state.messages, ...turn(n)] };
        found = await taken();
        return ctx.done(n);
      },
    }),
  );
  await talks.start({}, { id: RUN });
  await invoke(talks, 'finished');
  return ended(found);
}

async function updates(wire: Wire, count: number): Promise<Steps> {
  const { before, taken } = fromTheMiddle(wire, count, 2 * 66);
  const system = ours((await dynamoStore(wire))(), CONVERSATION);
  for (let n = 1; n <= count; n++) {
    await before(n);
    await system.step(n)();
  }
  return taken();
}

function ended(found: Steps | undefined): Steps {
  if (!found) throw new Error('The agent should have come to its end; it did not.');
  return found;
}
