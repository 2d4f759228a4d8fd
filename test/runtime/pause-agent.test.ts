import { expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { testAgents } from '../../lambda/testing.ts';
import { describeOnEachStorage, gate, headOf, otherProcessOptions } from './storages.ts';

const waiting = agent({ name: 'waiting', run: (ctx) => ctx.waitForSignal('go') });
const quick = agent({ name: 'quick', run: () => 'done' });

describeOnEachStorage('a paused agent', (open) => {
  it('claims no run until it is unpaused; then its READY runs continue', async () => {
    const world = testAgents(waiting, { storage: await open() });
    const run = await world.start({}, { id: 'waits' });
    await world.agent.pause();
    await world.agent.pause();
    await world.start({}, { id: 'new' });
    await run.signal('go', 'while paused');
    await world.skip({ minutes: 5 });
    expect(await run.status()).toBe('READY');
    expect(await world.run('new').status()).toBe('READY');
    const skipped = world.invocations.slice(1);
    expect(skipped.every((invoked) => 'reason' in invoked && invoked.reason === 'paused')).toBe(true);
    await world.agent.unpause();
    await world.agent.unpause();
    await world.skip({ minutes: 1 });
    expect(await run.result()).toBe('while paused');
    expect(await world.run('new').status()).toBe('WAITING_FOR_SIGNAL');
  });
});

it('a paused agent does not stop other agents', async () => {
  const world = testAgents(waiting, { agents: [quick] });
  const options = otherProcessOptions(world);
  await quick.with(options).pause();
  await world.start({}, { id: 'w' });
  expect(await world.run('w').status()).toBe('WAITING_FOR_SIGNAL');
  await quick.with(options).start({}, { id: 'q' });
  await world.skip({ minutes: 2 });
  expect(await world.run('q').status()).toBe('READY');
  await quick.with(options).unpause();
  await world.skip({ minutes: 2 });
  expect(await world.run('q').result()).toBe('done');
});

it('a run that is executing when its agent is paused continues until it ends, and pausing costs no attempts', async () => {
  const [started, finish] = [gate(), gate()];
  const busy = agent({
    name: 'busy',
    async run(ctx) {
      await ctx.step('work', async () => {
        started.open();
        await finish.opened;
      });
      await ctx.step('more', () => 1);
      await ctx.sleep('night', { hours: 8 });
    },
  });
  const world = testAgents(busy);
  await world.agent.start({}, { id: 'r' });
  const settled = world.settle();
  await started.opened;
  await world.agent.pause();
  finish.open();
  await settled;
  expect(await world.run('r').status()).toBe('SLEEPING');
  await world.skip({ days: 2 });
  expect(await world.run('r').status()).toBe('READY');
  expect((await headOf(world.agent, 'r')).work?.claims ?? 0).toBe(0);
  await world.agent.unpause();
  await world.skip({ minutes: 1 });
  expect(await world.run('r').status()).toBe('SUCCEEDED');
});
