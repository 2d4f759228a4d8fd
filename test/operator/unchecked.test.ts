import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { agent } from '../../lambda/index.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import { testAgents } from '../../lambda/testing.ts';

const orders = agent({
  name: 'orders',
  input: z.object({ count: z.string().transform(Number).pipe(z.int()) }),
  signals: { ship: z.object({ at: z.iso.date().transform((text) => new Date(text)) }) },
  state: { initial: ({ count }) => ({ doubled: count * 2 }) },
  async run(ctx, { count }) {
    const shipped = await ctx.waitForSignal('ship').catch((error: Error) => error.message);
    await ctx.sleep('a night', { hours: 8 });
    return { count, doubled: ctx.state.doubled, shipped };
  },
});

const scene = () => {
  const world = testAgents(orders);
  return { world, operator: createOperator(world.agent.runtime) };
};

describe('a value from a caller without the schemas of the agent', () => {
  it('is validated and parsed once, when the agent first reads it', async () => {
    const { world, operator } = scene();
    await operator.start({ agent: 'orders', id: 'r', input: { count: '3' } });
    await world.skip({ minutes: 2 });
    expect((await operator.run('r')).input).toEqual({ count: 3 });
    expect((await operator.checkpoint('r')).state).toEqual({ doubled: 6 });
    await operator.signal('r', { name: 'ship', value: { at: '2026-05-01' } });
    await world.skip({ hours: 9 });
    expect(await world.run('r').result()).toEqual({ count: 3, doubled: 6, shipped: { at: new Date('2026-05-01') } });
  });

  it('fails the run at its start if the input does not match, and names the field', async () => {
    const { world, operator } = scene();
    await operator.start({ agent: 'orders', id: 'r', input: { count: 'many' } });
    await world.skip({ minutes: 2 });
    expect(await operator.run('r')).toMatchObject({
      status: 'FAILED',
      error: { message: expect.stringContaining('The input of agent "orders" does not match its schema: count:') },
    });
  });

  it('makes `waitForSignal` throw if the signal does not match, in every replay', async () => {
    const { world, operator } = scene();
    await operator.signal('r', { name: 'ship', value: 'tomorrow' });
    await operator.start({ agent: 'orders', id: 'r', input: { count: '1' } });
    await world.skip({ hours: 9 });
    const { shipped } = (await world.run('r').result()) as { shipped: string };
    expect(shipped).toContain('Signal "ship" does not match its schema');
  });

  it('is not validated twice if the agent itself validated it', async () => {
    const { world } = scene();
    const run = await world.start({ count: '4' } as never, { id: 'r' });
    await world.agent.run('r').signal('ship', { at: '2026-05-01' });
    await world.skip({ hours: 9 });
    expect(await run.result()).toMatchObject({ count: 4, shipped: { at: new Date('2026-05-01') } });
  });
});
