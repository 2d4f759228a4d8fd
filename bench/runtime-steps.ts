import { agent } from '../lambda/index.ts';
import { type Counts, countsSince, NO_COUNTS } from './counts.ts';
import { printFlatness } from './growth.ts';
import { invoke, openRuntime } from './open-runtime.ts';
import type { Trace } from './trace.ts';
import type { Wire } from './wire.ts';
import { type Conversation, freshText, RUN, turnMessages } from './works.ts';

const results = new Map<number, string>();

/** A text of 1 KB that hardly compresses: what a step gives. Made once, so that it costs nothing when it is asked for. */
export function stepResult(step: number): string {
  const result = results.get(step) ?? freshText(step, 114);
  results.set(step, result);
  return result;
}

export interface RuntimeSteps {
  readonly marks: readonly number[];
  readonly steps: Trace;
  readonly turns: Trace;
}

/** Counts each step of a long run, and each turn of a long run of turns; prints what they cost around the marks. */
export async function runtimeSteps(wire: Wire, marks: readonly number[]): Promise<RuntimeSteps> {
  const [steps, turns] = [await traceSteps(wire, Math.max(...marks)), await traceTurns(wire, Math.max(...marks))];
  printFlatness('Runtime, steps', '`ctx.step` with a result of 1 KB', steps, marks);
  printFlatness('Runtime, turns', 'a turn that adds 1.2 KB to its state', turns, marks);
  return { marks, steps, turns };
}

async function traceSteps(wire: Wire, count: number): Promise<Trace> {
  const open = await openRuntime(wire);
  const tracer = tracing(wire);
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
  const tracer = tracing(wire);
  let n = 0;
  const turns = open(
    agent({
      name: 'turns',
      state: { initial: (): Conversation => ({ messages: [] }) },
      async turn(ctx, state: Conversation) {
        await (n === 0 ? tracer.begin() : tracer.stepped());
        n += 1;
        // One more, so that the last that counts is not written together with the end of the run.
        return n > count ? ctx.done(n) : { messages: [...state.messages, ...turnMessages(n)] };
      },
    }),
  );
  await turns.start({}, { id: RUN });
  await invoke(turns, 'finished');
  return tracer.trace('runtime, turns');
}

/** Counts inside of a running agent, between its steps. */
function tracing(wire: Wire) {
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
