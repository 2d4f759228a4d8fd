import { agent } from '../lambda/index.ts';
import { type Counts, countsSince, NO_COUNTS } from './counts.ts';
import { printFlatness } from './growth.ts';
import { invoke, openRuntime } from './open-runtime.ts';
import type { Trace } from './trace.ts';
import type { Wire } from './wire.ts';
import { type Conversation, freshText, RUN, turnMessages } from './works.ts';

const results = new Map<number, string>();

/** A step result: 1 KB of text that hardly compresses. Cached, so that making it does not count as CPU time of a step. */
export function stepResult(step: number): string {
  const result = results.get(step) ?? freshText(step, 114);
  results.set(step, result);
  return result;
}

/** Traces of a long run of steps and of a long run of turns. */
export interface RuntimeSteps {
  readonly marks: readonly number[];
  readonly steps: Trace;
  readonly turns: Trace;
}

/** Counts each step and each turn of two long runs, and prints their cost around the marks. */
export async function runtimeSteps(wire: Wire, marks: readonly number[]): Promise<RuntimeSteps> {
  const [steps, turns] = [await traceSteps(wire, Math.max(...marks)), await traceTurns(wire, Math.max(...marks))];
  printFlatness('Runtime, steps', '`ctx.step` with a result of 1 KB', steps, marks);
  printFlatness('Runtime, turns', 'a turn that adds 1.2 KB to its state', turns, marks);
  return { marks, steps, turns };
}

async function traceSteps(wire: Wire, count: number): Promise<Trace> {
  const open = await openRuntime(wire);
  const tracer = createTracer(wire);
  const steps = open(
    agent({
      name: 'steps',
      async run(ctx) {
        await tracer.begin();
        for (let n = 1; n <= count; n++) {
          const result = stepResult(n);
          await ctx.step('call tool', () => result);
          await tracer.stepped();
        }
      },
    }),
  );
  await steps.start({}, { id: RUN });
  await invoke(steps, 'finished');
  return tracer.trace('runtime, steps');
}

async function traceTurns(wire: Wire, count: number): Promise<Trace> {
  const open = await openRuntime(wire);
  const tracer = createTracer(wire);
  let n = 0;
  const turns = open(
    agent({
      name: 'turns',
      state: { initial: (): Conversation => ({ messages: [] }) },
      async turn(ctx, state: Conversation) {
        await (n === 0 ? tracer.begin() : tracer.stepped());
        n += 1;
        // One more turn, so that the last counted one is not written together with the end of the run.
        return n > count ? ctx.done(n) : { messages: [...state.messages, ...turnMessages(n)] };
      },
    }),
  );
  await turns.start({}, { id: RUN });
  await invoke(turns, 'finished');
  return tracer.trace('runtime, turns');
}

/** Counts requests from inside a running agent, after each of its steps. */
function createTracer(wire: Wire) {
  const after: Counts[] = [NO_COUNTS];
  let start = NO_COUNTS;
  return {
    async begin() {
      start = await wire.counts();
    },
    async stepped() {
      after.push(countsSince(start, await wire.counts()));
    },
    trace: (system: string): Trace => ({ system, after, cpuMs: [] }),
  };
}
