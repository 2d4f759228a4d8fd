import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { type Agent, agent } from '../../../lambda/runtime/agent/agent.ts';
import type { AgentOptions } from '../../../lambda/runtime/agent/agent-options.ts';
import type { StepContext } from '../../../lambda/runtime/definition/agent-context.ts';

/** One side effect of a step. */
export interface Effect {
  readonly run: string;
  readonly what: string;
  readonly idempotencyKey: string;
}

/** Appends side effects to a file, which outlives the process. */
function effectsIn(file: string) {
  return (run: string, what: string) =>
    ({ idempotencyKey }: StepContext): string => {
      const effect: Effect = { run, what, idempotencyKey };
      const descriptor = openSync(file, 'a');
      writeSync(descriptor, `${JSON.stringify(effect)}\n`);
      fsyncSync(descriptor);
      closeSync(descriptor);
      return `done: ${what}`;
    };
}

/** An agent of any types. */
export interface SomeAgent extends Omit<Agent<never>, 'with' | 'store'> {
  readonly store: Pick<Agent['store'], 'load' | 'verify'>;
}

/** The version of the deployment that a process runs. */
export type Code = 1 | 3;

export const APPROVERS = Array.from({ length: 10 }, (_, i) => `user:${i}` as const);

/** The agents of the processes; they append their side effects to a file. */
export function agentsOf(file: string, code: Code, options: AgentOptions): ReadonlyMap<string, SomeAgent> {
  const effect = effectsIn(file);

  const hotel = agent({
    name: 'hotel',
    async run(ctx, input: { readonly city: string }) {
      const room = await ctx.step('reserve', effect(ctx.run, 'reserve'), {
        undo: (_, step) => effect(ctx.run, 'release')(step),
      });
      await ctx.step('guest', effect(ctx.run, 'guest'), { undo: (_, step) => effect(ctx.run, 'forget')(step) });
      if (input.city === 'Atlantis') throw new Error('Unknown city.');
      return room;
    },
  });

  const trip = agent({
    name: 'trip',
    state: { initial: (input: { readonly cities: readonly string[] }) => ({ cities: input.cities, notes: ['begun'] }) },
    async run(ctx, { cities }) {
      const quote = await ctx.step('quote', effect(ctx.run, 'quote'));
      await ctx.update((draft) => void draft.notes.push(quote));
      const fares = await ctx.map('fares', cities, async (branch, city) => {
        const fare = await branch.tool('fare', { city }, (_, step) => effect(ctx.run, `fare ${city}`)(step));
        return branch.step('seat', (step) => `${fare}, ${effect(ctx.run, `seat ${city}`)(step)}`);
      });
      const refused = await ctx.call(hotel, { city: 'Atlantis' }).catch((error: Error) => String(error.cause));
      const decision = await ctx.approval('book', {
        ...{ title: 'Book it?', show: fares, approvers: APPROVERS, quorum: 2, timeout: { days: 3 } },
        facts: { quote },
        recheck: async () => ({ quote }),
      });
      const paid = await ctx.step('pay', effect(ctx.run, 'pay'), { undo: () => undefined });
      await ctx.sleep('cool down', { hours: 2 });
      const gate = (await ctx.waitForSignal('gate')) as string;
      const { pass } = await ctx.step('print', (step) => ({
        pass: ctx.payload(`Gate ${gate}, ${effect(ctx.run, 'print')(step)}`),
      }));
      await ctx.update((draft) => void draft.notes.push(gate));
      const { approved, by } = decision;
      return { fares, refused, approved, by, paid, pass: await pass.text(), notes: ctx.state.notes };
    },
  });

  const once = agent({
    name: 'once',
    async run(ctx) {
      const code = (error: { readonly code: string }) => error.code;
      return ctx.step('wire', effect(ctx.run, 'wire'), { atMostOnce: true }).catch(code);
    },
  });

  const vote = agent({
    name: 'vote',
    async run(ctx, { quorum }: { readonly quorum: number }) {
      const { approved, by } = await ctx.approval('vote', { title: 'Shall we?', approvers: APPROVERS, quorum });
      await ctx.step('count', effect(ctx.run, 'count'));
      return { approved, by };
    },
  });

  const chat = code === 1 ? chatOne(effect).with(options) : chatThree(effect).with(options);
  const agents = [trip.with(options), hotel.with(options), once.with(options), vote.with(options), chat];
  return new Map(agents.map((each: SomeAgent) => [each.name, each]));
}

type Effects = ReturnType<typeof effectsIn>;

/** The first deployment of a conversation. */
const chatOne = (effect: Effects) =>
  agent({
    name: 'chat',
    state: { version: 1, initial: () => ({ lines: [] as string[] }) },
    async run(ctx) {
      const hello = await ctx.step('hello', effect(ctx.run, 'hello'));
      await ctx.update((draft) => void draft.lines.push(hello));
      await ctx.waitForSignal('reply');
      return { lines: ctx.state.lines };
    },
  });

/** The third deployment: lines became messages, which are counted. */
const chatThree = (effect: Effects) =>
  agent({
    name: 'chat',
    state: {
      version: 3,
      initial: () => ({ messages: [] as { text: string }[], count: 0 }),
      migrations: {
        1: ({ lines }: { readonly lines: readonly string[] }) => ({ messages: lines.map((text) => ({ text })) }),
        2: (state: { readonly messages: readonly object[] }) => ({ ...state, count: state.messages.length }),
      },
    },
    async run(ctx) {
      const hello = await ctx.step('hello', effect(ctx.run, 'hello'));
      await ctx.update((draft) => {
        draft.messages.push({ text: hello });
        draft.count += 1;
      });
      const reply = (await ctx.waitForSignal('reply')) as string;
      await ctx.update((draft) => {
        draft.messages.push({ text: reply });
        draft.count += 1;
      });
      await ctx.waitForSignal('end');
      return ctx.state;
    },
  });
