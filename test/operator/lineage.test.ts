import { expect, it } from 'vitest';
import { agent } from '../../lambda/index.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { TestClock } from '../../lambda/testing.ts';

it('the lineage of a run does not include another run under the id of a deleted fork', async () => {
  const clock = new TestClock(Date.parse('2026-03-01T10:00:00Z'));
  const none = agent({ name: 'none', run: () => {} }, { storage: memoryStorage(), clock });
  const { store } = none;
  const operator = createOperator(none.runtime);
  await store.save({ run: 'origin', step: 'one', state: 1 });
  await operator.fork('origin', { id: 'fork' });
  const forks = async () => (await operator.lineage('origin')).root.forks;
  expect(await forks()).toMatchObject([{ run: 'fork', status: 'RUNNING' }]);

  await store.delete('fork');
  clock.moveTo(clock.now() + 3 * 24 * 3_600_000);
  await store.sweep();
  await store.save({ run: 'fork', step: 'new', state: 2 });
  await operator.fork('fork', { id: 'of another' });
  expect(await forks()).toEqual([{ run: 'fork', fromVersion: 1, forks: [] }]);
});
