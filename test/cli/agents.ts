import { agent } from '../../lambda/index.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { type TestEnvironment, testAgents } from '../../lambda/testing.ts';

/** The input of the travel agent. */
export interface Trip {
  readonly to: string;
}

const HOUR = 3_600_000;

/** An agent with steps, an approval, an undo and a signal, on a test clock. */
export function travelIn(folder: string, { hoursAgo = 48 } = {}): TestEnvironment<Trip, unknown, unknown> {
  let moves: (milliseconds: number) => void = () => {};
  let isBusy = true;
  const travel = agent({
    name: 'travel',
    async run(ctx, { to }: Trip) {
      const flight = await ctx.step('search flights', () => {
        moves(1400);
        return { id: 'HP 118', price: 1200 };
      });
      if (to === 'Nowhere') throw new Error('There is no flight to Nowhere.');
      const decision = await ctx.approval('book', {
        title: ({ price }) => `Book ${flight.id} to ${to} for $${price}?`,
        show: { flight, note: 'Window seat if possible.\nNo red-eye.' },
        approvers: ['user:ann', 'group:finance'],
        timeout: { days: 3 },
        facts: { price: flight.price },
        editable: true,
      });
      if (!decision.approved) return { booked: false, reason: decision.comment };
      await ctx.step(
        'pay',
        () => {
          moves(2300);
          return { paid: flight.price };
        },
        { undo: () => {} },
      );
      await ctx.step(
        'book seat',
        () => {
          moves(800);
          if (isBusy) {
            isBusy = false;
            throw new Error('The airline is busy.');
          }
          return 'seat 12A';
        },
        { retry: { maxAttempts: 3 } },
      );
      const at = await ctx.waitForSignal('departed');
      return { booked: flight.id, departed: at };
    },
  });
  const world = testAgents(travel, {
    storage: embeddedStorage({ folder }),
    now: new Date(Date.now() - hoursAgo * HOUR),
  });
  moves = (milliseconds) => world.clock.moveTo(world.clock.now() + milliseconds);
  return world;
}

/** The state of the chat agent. */
export interface Chat {
  readonly prompt: string;
  readonly messages: readonly { readonly role: string; readonly text: string }[];
}

/** An agent that keeps a conversation in its state, with one turn for each message. */
export function chatIn(folder: string): TestEnvironment<{ readonly prompt: string }, Chat, unknown> {
  const chat = agent({
    name: 'chat',
    state: { initial: ({ prompt }: { prompt: string }): Chat => ({ prompt, messages: [] }) },
    async turn(ctx, state) {
      const text = (await ctx.waitForSignal('message')) as string;
      const asked = { ...state, messages: [...state.messages, { role: 'user', text }] };
      if (text === 'bye') return ctx.done({ turns: state.messages.length / 2 }, asked);
      const answer = await ctx.step('answer', () => `You said: ${text}`);
      return { ...asked, messages: [...asked.messages, { role: 'assistant', text: answer }] };
    },
  });
  return testAgents(chat, { storage: embeddedStorage({ folder }), now: new Date(Date.now() - HOUR) });
}
