import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { testAgents } from '../../lambda/testing.ts';
import { describeOnEachStorage } from './storages.ts';

const SMALL = { id: 'small-1', version: '2026-01', temperature: 0.2, seed: 7 };
const LARGE = { id: 'large-1', temperature: 0, topP: 0.9 };

describeOnEachStorage('model parameters', (open) => {
  it('are stored with the checkpoint of their step, and with no other', async () => {
    const modelAgent = agent({
      name: 'asking',
      async run(ctx) {
        await ctx.step('before', () => 1);
        await ctx.step('ask', () => 'yes', { model: SMALL });
        await ctx.tool('search', { for: 'x' }, () => [], { model: LARGE });
        await ctx.step('after', () => 2);
      },
    });
    const run = await testAgents(modelAgent, { storage: await open() }).start({});
    const models = (await run.checkpoints()).flatMap(({ step, model }) => (step ? [[step, model]] : []));
    expect(models).toEqual([
      ['before', undefined],
      ['ask', SMALL],
      ['search', LARGE],
      ['after', undefined],
    ]);
  });
});

describe('model parameters of parallel steps', () => {
  it('have one checkpoint per model; steps of the same model share one', async () => {
    const modelAgent = agent({
      name: 'asking',
      run: (ctx) =>
        ctx.all('models', [
          (branch) => branch.step('small', () => 1, { model: SMALL }),
          (branch) => branch.step('large', () => 2, { model: LARGE }),
          (branch) => branch.step('large too', () => 3, { model: LARGE }),
        ]),
    });
    const run = await testAgents(modelAgent).start({});
    expect(await run.result()).toEqual([1, 2, 3]);
    const models = (await run.checkpoints()).flatMap(({ model }) => model ?? []);
    expect(models).toEqual([SMALL, LARGE]);
  });

  it('fail the step with their path when they cannot be stored', async () => {
    const modelAgent = agent({
      name: 'asking',
      run: (ctx) => ctx.step('ask', () => 1, { model: { id: 'm', log: () => {} }, retry: { maxAttempts: 1 } }),
    });
    const run = await testAgents(modelAgent).start({});
    await expect(run.result()).rejects.toThrow(/model\.log is a function/);
  });
});
