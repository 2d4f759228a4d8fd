import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { testAgents } from '../../lambda/testing.ts';
import { describeOnEachStorage, otherProcessOptions } from './storages.ts';

const waiting = agent({ name: 'waiting', run: (ctx) => ctx.waitForSignal('go') });

describe('the result of a run', () => {
  it('can be awaited by several callers', async () => {
    const world = testAgents(waiting);
    await world.start({}, { id: 'r' });
    const results = Promise.all([world.agent.run('r').result(), world.agent.run('r').result()]);
    await world.run('r').signal('go', 'there');
    // Callers poll the status of the run.
    await world.skip({ seconds: 5 });
    expect(await results).toEqual(['there', 'there']);
  });

  it('is awaited only until the timeout, and the run continues', async () => {
    const world = testAgents(waiting);
    const run = await world.start({}, { id: 'r' });
    const early = world.agent.run('r').result({ timeout: { seconds: 3 } });
    const refused = expect(early).rejects.toMatchObject({
      ...{ code: 'TIMED_OUT', message: expect.stringContaining('WAITING_FOR_SIGNAL') },
    });
    for (let i = 0; i < 40; i++) await world.skip({ milliseconds: 100 });
    await refused;
    await run.signal('go', 'later');
    expect(await run.result()).toBe('later');
  });

  it('is the error of a failed run, with its cause; the checkpoint names the step', async () => {
    const failing = agent({
      name: 'failing',
      async run(ctx) {
        await ctx.step('fine', () => 1);
        await ctx.step(
          'pay',
          () => {
            throw new Error('declined', { cause: new RangeError('limit') });
          },
          { retry: { maxAttempts: 1 } },
        );
      },
    });
    const world = testAgents(failing);
    const run = await world.start({}, { id: 'r' });
    const failure = await world.agent
      .run('r')
      .result()
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({
      ...{ code: 'RUN_FAILED', message: 'Run "r" is FAILED at "pay": declined' },
      cause: { message: 'declined', cause: { name: 'RangeError', message: 'limit' } },
    });
    const last = (await run.checkpoints()).at(-1);
    expect(last).toMatchObject({ status: 'FAILED', toolResults: { '@error': { failedOperations: ['pay'] } } });
  });

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['a date', new Date(0)],
    ['a map', new Map([['a', 1n]])],
  ])('can be %s', async (_, value) => {
    const run = await testAgents(agent({ name: 'giving', run: () => value })).start({}, { id: 'r' });
    expect(await run.result()).toEqual(value);
  });

  it('throws RUN_NOT_FOUND for an unknown run, and so does its status', async () => {
    const { run } = testAgents(waiting);
    await expect(run('nobody').result()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(run('nobody').status()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(run('nobody').approvals()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(run('nobody').rewind(1)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(run('nobody').fork()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });
});

describe('start', () => {
  it('starts one run with the first input when it is called twice with one id', async () => {
    let ran = 0;
    const echo = agent({
      name: 'echo',
      run: (ctx, input: string) =>
        ctx.step('echo', () => {
          ran += 1;
          return input;
        }),
    });
    const world = testAgents(echo);
    const both = await Promise.all([world.agent.start('one', { id: 'r' }), world.agent.start('one', { id: 'r' })]);
    expect(both.map(({ id }) => id)).toEqual(['r', 'r']);
    await world.settle();
    const again = await world.start('two', { id: 'r' });
    expect(await again.result()).toBe('one');
    expect(ran).toBe(1);
  });

  it('rejects the id of a run of another agent', async () => {
    const other = agent({ name: 'other', run: () => 1 });
    const world = testAgents(waiting, { agents: [other] });
    await world.start({}, { id: 'r' });
    const options = otherProcessOptions(world);
    await expect(other.with(options).start({}, { id: 'r' })).rejects.toMatchObject({ code: 'RUN_EXISTS' });
  });

  it('gives each run a unique id by default', async () => {
    const world = testAgents(waiting);
    const ids = new Set<string>();
    for (let i = 0; i < 20; i++) ids.add((await world.agent.start({})).id);
    expect(ids.size).toBe(20);
  });

  it('separates runs of different tenants with the same id', async () => {
    const world = testAgents(waiting);
    const options = { ...otherProcessOptions(world), tenant: 'other' };
    await world.start({}, { id: 'r' });
    const theirs = await waiting.with(options).start({}, { id: 'r' });
    await world.run('r').signal('go', 'mine');
    expect(await world.run('r').result()).toBe('mine');
    expect(await theirs.status()).toBe('READY');
  });
});

describeOnEachStorage('results', (open) => {
  it('are returned to every caller, and so are errors', async () => {
    const maybe = agent({
      name: 'maybe',
      run: (_, input: { fails: boolean }) => (input.fails ? Promise.reject(new TypeError('no')) : { fine: true }),
    });
    const world = testAgents(maybe, { storage: await open() });
    expect(await (await world.start({ fails: false }, { id: 'a' })).result()).toEqual({ fine: true });
    const failed = await world.start({ fails: true }, { id: 'b' });
    await expect(failed.result()).rejects.toMatchObject({ code: 'RUN_FAILED', cause: { name: 'TypeError' } });
    await expect(world.run('c').result()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });
});
