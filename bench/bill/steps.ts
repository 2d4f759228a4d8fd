import { agent } from '../../lambda/index.ts';
import { type Counts, countsSince, NO_COUNTS } from '../counts.ts';
import { invoke, openRuntime } from '../open-runtime.ts';
import { dynamoStore, waitstateSystem } from '../systems.ts';
import type { Wire } from '../wire.ts';
import { CONVERSATION, type Conversation, freshText, RUN, turnMessages } from '../works.ts';

/** What a number of steps used, in the middle of a run. */
export interface StepUsage {
  readonly steps: number;
  /** Bytes that each step returned or added. */
  readonly resultBytes: number;
  readonly counts: Counts;
}

/** What steps of each kind use. */
export interface StepUnits {
  /** `ctx.step` with a result of 1 KB and of 20 KB. */
  readonly small: StepUsage;
  readonly large: StepUsage;
  /** A turn that adds 1.2 KB of text to its state. */
  readonly turn: StepUsage;
  /** The same with the store alone. */
  readonly update: StepUsage;
}

const LONG_RUN_STEPS = 400;
const SHORT_RUN_STEPS = 60;

/** Counts steps of each kind on the wire, from the middle of a run to its end. */
export async function stepUnits(wire: Wire): Promise<StepUnits> {
  return {
    small: await runtimeSteps(wire, LONG_RUN_STEPS, 114),
    large: await runtimeSteps(wire, SHORT_RUN_STEPS, 2222),
    turn: await turns(wire, LONG_RUN_STEPS),
    update: await updates(wire, LONG_RUN_STEPS),
  };
}

/** Counts the second half of the steps. */
function measureSecondHalf(wire: Wire, steps: number, groups: number) {
  let middle = NO_COUNTS;
  return {
    async before(step: number): Promise<void> {
      if (step === steps / 2 + 1) middle = await wire.counts();
    },
    taken: async (): Promise<StepUsage> => ({
      steps: steps / 2,
      resultBytes: freshText(1, groups).length,
      counts: countsSince(middle, await wire.counts()),
    }),
  };
}

async function runtimeSteps(wire: Wire, count: number, groups: number): Promise<StepUsage> {
  const { before, taken } = measureSecondHalf(wire, count, groups);
  let found: StepUsage | undefined;
  const calls = (await openRuntime(wire))(
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
  return requireFound(found);
}

async function turns(wire: Wire, count: number): Promise<StepUsage> {
  const { before, taken } = measureSecondHalf(wire, count, 2 * 66);
  let n = 0;
  let found: StepUsage | undefined;
  const talks = (await openRuntime(wire))(
    agent({
      name: 'talks',
      state: { initial: (): Conversation => ({ messages: [] }) },
      async turn(ctx, state: Conversation) {
        n += 1;
        await before(n);
        // The last turn is written in one checkpoint with the end of the run.
        if (n <= count) return { messages: [...state.messages, ...turnMessages(n)] };
        found = await taken();
        return ctx.done(n);
      },
    }),
  );
  await talks.start({}, { id: RUN });
  await invoke(talks, 'finished');
  return requireFound(found);
}

async function updates(wire: Wire, count: number): Promise<StepUsage> {
  const { before, taken } = measureSecondHalf(wire, count, 2 * 66);
  const system = waitstateSystem((await dynamoStore(wire))(), CONVERSATION);
  for (let n = 1; n <= count; n++) {
    await before(n);
    await system.step(n)();
  }
  return taken();
}

function requireFound(found: StepUsage | undefined): StepUsage {
  if (!found) throw new Error('Expected the agent to reach its last step; it did not.');
  return found;
}
