// The compiler checks these types; `npm run types` fails if one of them is wrong.
import { describe, expectTypeOf, it } from 'vitest';
import * as z from 'zod';
import { type Agent, agent } from '../../lambda/runtime/agent/agent.ts';
import type { RunHandle } from '../../lambda/runtime/agent/run-handle.ts';
import type { AgentContext } from '../../lambda/runtime/definition/agent-context.ts';
import type { TurnAgent } from '../../lambda/runtime/definition/agent-definition.ts';
import type { Answer } from '../../lambda/runtime/definition/question.ts';
import { type TestEnvironment, testAgents } from '../../lambda/testing.ts';

interface Message {
  role: 'user' | 'assistant';
  text: string;
}
interface Tree {
  value: number;
  children: Tree[];
}
class Money {
  readonly #cents = 1;
  get cents(): number {
    return this.#cents;
  }
  double(): number {
    return 2 * this.#cents;
  }
}
type OrderId = string & { readonly isOrderId: true };
interface Chat {
  n: number;
  title?: string;
  messages: Message[];
  range: [number, { to: number }];
  byName: Record<string, { n: number }>;
  tree: Tree;
  price: Money;
  order: OrderId;
  at: Date;
  tags: Set<string>;
  last: { kind: 'text'; parts: string[] } | { kind: 'none' };
}

/** Never called: the compiler alone checks the code. */
const typesOf = (_check: (ctx: AgentContext<Chat>) => unknown): void => {};

describe('the type of `ctx.state`', () => {
  it('refuses writes at every level', () => {
    typesOf(({ state }) => {
      // @ts-expect-error: readonly
      state.n = 1;
      // @ts-expect-error: readonly
      delete state.title;
      // @ts-expect-error: readonly
      state.messages = [];
      // @ts-expect-error: readonly
      state.messages[0] = { role: 'user', text: '' };
      // @ts-expect-error: readonly
      for (const message of state.messages) message.text = '';
      // @ts-expect-error: readonly
      state.messages.length = 0;
      // @ts-expect-error: readonly
      state.range[1].to = 2;
      // @ts-expect-error: readonly
      for (const each of Object.values(state.byName)) each.n = 2;
      // @ts-expect-error: readonly
      state.byName.more = { n: 1 };
      // @ts-expect-error: readonly
      for (const child of state.tree.children) child.value = 2;
      // @ts-expect-error: readonly
      if (state.last.kind === 'text') state.last.parts[0] = '';
    });
  });

  it('refuses the methods that change an array', () => {
    typesOf(({ state: { messages, tree } }) => {
      // @ts-expect-error: copy the array first
      messages.push({ role: 'user', text: '' });
      // @ts-expect-error: copy the array first
      messages.pop();
      // @ts-expect-error: copy the array first
      messages.shift();
      // @ts-expect-error: copy the array first
      messages.unshift({ role: 'user', text: '' });
      // @ts-expect-error: copy the array first
      messages.splice(0, 1);
      // @ts-expect-error: copy the array first
      messages.sort();
      // @ts-expect-error: copy the array first
      messages.reverse();
      // @ts-expect-error: copy the array first
      messages.fill({ role: 'user', text: '' });
      // @ts-expect-error: copy the array first
      messages.copyWithin(0, 1);
      // @ts-expect-error: copy the array first
      tree.children.push(tree);
    });
  });

  it('can be assigned to the mutable type, as a whole and in parts', () => {
    typesOf(({ state, update }) => {
      const whole: Chat = state;
      const messages: Message[] = state.messages;
      const range: [number, { to: number }] = state.range;
      const tree: Tree = state.tree;
      const copy = { ...state, messages: [...state.messages] };
      copy.n = 2;
      copy.messages.push({ role: 'user', text: '' });
      state.messages.map(({ text }) => text).push('');
      expectTypeOf(state.price).toEqualTypeOf<Money>();
      expectTypeOf(state.order).toEqualTypeOf<OrderId>();
      expectTypeOf(state.at).toEqualTypeOf<Date>();
      expectTypeOf(state.tags).toEqualTypeOf<Set<string>>();
      update(() => ({ ...state, n: 1 }));
      return { whole, messages, range, tree };
    });
  });

  it('is unknown without a state', () => {
    expectTypeOf<AgentContext['state']>().toEqualTypeOf<unknown>();
  });

  it('lets a context be passed to a function that needs less of the state, and not to one that needs more', () => {
    const needsLess = (_: AgentContext<{ n: number; messages: Message[] }>) => {};
    const needsNothing = (_: AgentContext) => {};
    const needsMore = (_: AgentContext<Chat & { more: string }>) => {};
    typesOf((ctx) => {
      needsLess(ctx);
      needsNothing(ctx);
      // @ts-expect-error: the state has no `more`
      needsMore(ctx);
    });
  });
});

describe('the type of a signal', () => {
  const paid = z.object({ amount: z.number(), at: z.iso.date().transform((text) => new Date(text)) });
  const signals = { paid, stop: z.undefined() };
  interface Paid {
    amount: number;
    at: Date;
  }
  const waiting = () =>
    agent({
      name: 'waiting',
      input: z.object({ to: z.string() }),
      state: { initial: ({ to }): { notes: string[] } => ({ notes: [to] }) },
      signals,
      async run(ctx, { to }) {
        const payment = await ctx.waitForSignal('paid');
        expectTypeOf(payment).toEqualTypeOf<Paid>();
        expectTypeOf(await ctx.waitForSignal('paid', { timeout: { days: 1 } })).toEqualTypeOf<Paid | undefined>();
        // @ts-expect-error: not among the signals
        await ctx.waitForSignal('payed');
        await ctx.map('each', [1], async (branch) =>
          expectTypeOf(await branch.waitForSignal('paid')).toEqualTypeOf<Paid>(),
        );
        await ctx.all('both', [
          async (branch) => expectTypeOf(await branch.waitForSignal('paid')).toEqualTypeOf<Paid>(),
        ]);
        expectTypeOf(await waitInHelper(ctx)).toEqualTypeOf<Paid>();
        await waitForAny(ctx);
        return { to, payment, notes: ctx.state.notes.length };
      },
    });
  const waitInHelper = (ctx: AgentContext<{ notes: string[] }, typeof signals>) => ctx.waitForSignal('paid');
  const waitForAny = (ctx: AgentContext) => ctx.waitForSignal('any');

  it('comes from the schema in the agent, together with the types of the input, the state and the result', () => {
    type Result = { to: string; payment: Paid; notes: number };
    expectTypeOf<ReturnType<typeof waiting>>().toEqualTypeOf<
      Agent<{ to: string }, { notes: string[] }, Result, typeof signals>
    >();
  });

  it('is what the schema takes where the signal is sent', () => {
    const _send = async (run: RunHandle<unknown, typeof signals>) => {
      await run.signal('paid', { amount: 1, at: '2026-01-01' }, { id: 'delivery-1' });
      await run.signal('stop');
      await (await run.fork()).signal('stop', undefined, { id: 'delivery-2' });
      // @ts-expect-error: not among the signals
      await run.signal('payed', {});
      // @ts-expect-error: the schema needs a value
      await run.signal('paid');
      // @ts-expect-error: an amount is a number
      await run.signal('paid', { amount: '1', at: '2026-01-01' });
    };
    const world = () => testAgents(waiting());
    expectTypeOf(world).returns.toEqualTypeOf<
      TestEnvironment<{ to: string }, { notes: string[] }, { to: string; payment: Paid; notes: number }, typeof signals>
    >();
    const _sendInTest = async () => {
      const run = await world().start({ to: 'x' });
      // @ts-expect-error: not among the signals
      await run.signal('payed', {});
    };
  });

  it('is unknown, with any name, if the agent declares no signals', () => {
    const _undeclared = () =>
      agent({
        name: 'undeclared',
        run: async (ctx) => expectTypeOf(await ctx.waitForSignal('any')).toEqualTypeOf<unknown>(),
      });
    const _send = async (run: RunHandle) => {
      await run.signal('any');
      await run.signal('any', 1, { id: 'delivery-1' });
    };
  });
});

describe('the type of a result', () => {
  interface Counter {
    n: number;
    notes: string[];
  }
  const state = { initial: (input: { from: number }): Counter => ({ n: input.from, notes: [] }) };
  type Result = { a: number } | string;

  it('is the union of what `ctx.done` gets', () => {
    const _ended = () =>
      agent({ name: 'ended', state, turn: (ctx, { n }) => (n > 1 ? ctx.done({ a: 1 }) : ctx.done('no')) });
    expectTypeOf(_ended).returns.toEqualTypeOf<Agent<{ from: number }, Counter, Result>>();
  });

  it('is the union in an async turn that also returns states or nothing', () => {
    const _ended = () =>
      agent({
        name: 'ended',
        state,
        signals: { go: z.number() },
        async turn(ctx, { n, notes }, { from }) {
          if (n === from) return { n: await ctx.waitForSignal('go'), notes: [...notes, 'more'] };
          if (n === 2) return;
          return n > 3 ? ctx.done({ a: 1 }) : ctx.done('no');
        },
      });
    expectTypeOf(_ended).returns.toEqualTypeOf<Agent<{ from: number }, Counter, Result, { go: z.ZodNumber }>>();
  });

  it('is the union of what `run` returns', () => {
    const _ended = () => agent({ name: 'ended', run: async (_, n: number) => (n > 1 ? { a: 1 } : String(n)) });
    expectTypeOf(_ended).returns.toEqualTypeOf<Agent<number, unknown, Result>>();
  });

  it('comes from the result schema, which also checks what `ctx.done` gets', () => {
    const result = z.object({ at: z.iso.date().transform((text) => new Date(text)) });
    const _ended = () => agent({ name: 'ended', state, result, turn: (ctx) => ctx.done({ at: '2026-01-01' }) });
    expectTypeOf(_ended).returns.toEqualTypeOf<Agent<{ from: number }, Counter, { at: Date }>>();
    // @ts-expect-error: the schema takes text
    const _refused = () => agent({ name: 'refused', state, result, turn: (ctx) => ctx.done({ at: 1 }) });
  });

  it('is kept by a definition that is written on its own', () => {
    const definition: TurnAgent<{ from: number }, Counter, string> = {
      name: 'ended',
      state,
      turn: (ctx, { n }) => (n > 1 ? ctx.done('yes') : { n: n + 1, notes: [] }),
    };
    const _ended = () => agent(definition);
    expectTypeOf(_ended).returns.toEqualTypeOf<Agent<{ from: number }, Counter, string>>();
  });

  it('does not let a turn return or end with another state', () => {
    // @ts-expect-error: `notes` is missing
    const _ended = () => agent({ name: 'ended', state, turn: (ctx) => ctx.done('no', { n: 1 }) });
    // @ts-expect-error: `n` is a number
    const _refused = () => agent({ name: 'refused', state, turn: ({ state: { notes } }) => ({ n: 'one', notes }) });
    // @ts-expect-error: `notes` is missing
    const _incomplete = () => agent({ name: 'incomplete', state, turn: async () => ({ n: 1 }) });
  });
});

describe('the type of an example', () => {
  const input = z.object({ to: z.string(), nights: z.int().default(5) });
  const run = (_: AgentContext, { nights }: z.output<typeof input>) => nights;

  it('is what `start` takes: the input of the schema', () => {
    const _typed = () => agent({ name: 'typed', input, example: { to: 'Lisbon' }, run });
    expectTypeOf(_typed).returns.toEqualTypeOf<Agent<z.input<typeof input>, unknown, number>>();
    // @ts-expect-error: `to` is missing
    const _refused = () => agent({ name: 'refused', input, example: { nights: 5 }, run });
  });

  it('is the input of `run` or `turn` without a schema', () => {
    const _run = () => agent({ name: 'run', example: 1, run: (_, n: number) => n });
    expectTypeOf(_run).returns.toEqualTypeOf<Agent<number, unknown, number>>();
    const state = { initial: (input: { n: number }) => input };
    const _turn = () => agent({ name: 'turn', example: { n: 1 }, state, turn: (ctx, { n }) => ctx.done(n) });
    expectTypeOf(_turn).returns.toEqualTypeOf<Agent<{ n: number }, { n: number }, number>>();
    // @ts-expect-error: the input is a number
    const _refused = () => agent({ name: 'refused', example: '1', run: (_, n: number) => n });
    // @ts-expect-error: `n` is a number
    const _refusedTurn = () => agent({ name: 'refused', example: { n: '1' }, state, turn: (ctx) => ctx.done(1) });
  });
});

describe('the type of an answer', () => {
  const ANN = { title: 'Which?', approvers: ['user:ann'] } as const;
  const answerOf = async <T>(asked: Promise<Answer<T>>) => {
    const result = await asked;
    return result.answered ? result.answer : undefined;
  };
  const _ask = (ctx: AgentContext) => ({
    choice: () => answerOf(ctx.ask('q', { ...ANN, choices: ['window', 'aisle'] })),
    labelled: () =>
      answerOf(
        ctx.ask('q', {
          ...ANN,
          choices: [
            { value: 'lh1', label: 'LH 1' },
            { value: 2, label: 'Two' },
          ],
        }),
      ),
    computed: (flights: readonly { readonly id: string }[]) =>
      answerOf(ctx.ask('q', { ...ANN, choices: flights.map(({ id }) => ({ value: id, label: `Flight ${id}` })) })),
    several: () => answerOf(ctx.ask('q', { ...ANN, choices: ['meal', 'bag'], multiple: true })),
    text: () => answerOf(ctx.ask('q', { ...ANN, text: { maxLength: 80 } })),
    form: () =>
      answerOf(ctx.ask('q', { ...ANN, answer: z.object({ day: z.iso.date().transform((d) => new Date(d)) }) })),
    facts: () =>
      ctx.ask('q', {
        ...ANN,
        title: ({ fare }) => `For $${fare}?`,
        text: true,
        facts: { fare: 1 },
        recheck: () => ({ fare: 2 }),
      }),
    noFacts: () => ctx.ask('q', { ...ANN, text: true }),
  });
  type Asked = ReturnType<typeof _ask>;

  it('is one of the choices, several of them, text, or the output of the schema', () => {
    expectTypeOf<Awaited<ReturnType<Asked['choice']>>>().toEqualTypeOf<'window' | 'aisle' | undefined>();
    expectTypeOf<Awaited<ReturnType<Asked['labelled']>>>().toEqualTypeOf<'lh1' | 2 | undefined>();
    expectTypeOf<Awaited<ReturnType<Asked['computed']>>>().toEqualTypeOf<string | undefined>();
    expectTypeOf<Awaited<ReturnType<Asked['several']>>>().toEqualTypeOf<readonly ('meal' | 'bag')[] | undefined>();
    expectTypeOf<Awaited<ReturnType<Asked['text']>>>().toEqualTypeOf<string | undefined>();
    expectTypeOf<Awaited<ReturnType<Asked['form']>>>().toEqualTypeOf<{ day: Date } | undefined>();
  });

  it('has the facts of the question', () => {
    expectTypeOf<Awaited<ReturnType<Asked['facts']>>['facts']>().toEqualTypeOf<{ fare: number }>();
    expectTypeOf<Awaited<ReturnType<Asked['noFacts']>>['facts']>().toEqualTypeOf<undefined>();
  });

  it('must be one kind of answer', () => {
    const _refused = (ctx: AgentContext) => {
      // @ts-expect-error: neither choices, text nor a schema
      void ctx.ask('q', ANN);
      // @ts-expect-error: two kinds
      void ctx.ask('q', { ...ANN, choices: ['a', 'b'], text: true });
      // @ts-expect-error: nobody gives the answer
      void ctx.ask('q', { ...ANN, text: true, onTimeout: 'approve' });
      // @ts-expect-error: several texts
      void ctx.ask('q', { ...ANN, text: true, multiple: true });
    };
  });
});
