import { describe, expect, it } from 'vitest';
import { agent, localKeys } from '../../lambda/index.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import { approvalKey } from '../../lambda/storage/keys.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';

const keys = localKeys({ current: 'k', keys: { k: new Uint8Array(32).fill(7) } });

/** Three runs that ask: one that can be read, one without encryption, and one whose approval is damaged. */
async function scene() {
  const storage = memoryStorage();
  const logged: Readonly<Record<string, unknown>>[] = [];
  const asks = agent({
    name: 'asks',
    run: async (ctx) => (await ctx.approval('book', { title: 'Book?', approvers: ['user:ann'] })).approved,
  });
  const place = { storage, keys, log: (_: string, __: string, fields: object) => void logged.push({ ...fields }) };
  const sealed = asks.with(place);
  for (const [run, who] of [
    ['plain', asks.with({ storage })],
    ['broken', sealed],
    ['good', sealed],
  ] as const) {
    await who.start({}, { id: run });
    await who.invoke({ run }, { by: 'me', until: Date.now() + 60_000 });
  }
  const [there] = await storage.records.read('default/broken', [approvalKey('book')]);
  if (!there) throw new Error('expected the approval of run "broken"');
  const put = { ...there, revision: 'broken', meta: 'nonsense' };
  await storage.records.commit([{ put, when: { revision: there.revision } }]);
  logged.length = 0;
  return { operator: createOperator(sealed.runtime), storage, sealed, logged };
}

describe('approvals that cannot be read', () => {
  it('leave the others in an inbox, and are logged', async () => {
    const { operator, logged } = await scene();
    expect((await operator.inbox('user:ann')).map(({ run }) => run)).toEqual(['good']);
    expect(logged.map(({ run, approval, error }) => [run, approval, error]).toSorted()).toEqual([
      ['broken', 'book', 'DAMAGED'],
      ['plain', 'book', 'RUN_NOT_ENCRYPTED'],
    ]);
  });

  it('leave the others in the list of all that are open', async () => {
    const { operator, logged } = await scene();
    expect((await operator.pendingApprovals()).map(({ run }) => run)).toEqual(['good']);
    expect(logged.map(({ run }) => run).toSorted()).toEqual(['broken', 'plain']);
  });

  it('are not taken for a storage that does not answer: then there is no list', async () => {
    const { sealed, storage } = await scene();
    const read = () => Promise.reject(Object.assign(new Error('away'), { code: 'STORAGE_UNAVAILABLE', scope: 'run' }));
    const away = { ...storage, records: { ...storage.records, read, range: read } };
    await expect(createOperator(sealed.with({ storage: away, keys }).runtime).inbox('user:ann')).rejects.toThrow(
      'away',
    );
  });
});
