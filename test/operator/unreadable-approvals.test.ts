import { describe, expect, it } from 'vitest';
import { agent, localKeys } from '../../lambda/index.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import { approvalKey } from '../../lambda/storage/keys.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';

const keys = localKeys({ current: 'k', keys: { k: new Uint8Array(32).fill(7) } });

/** Three runs with an approval: one readable, one not encrypted, and one whose approval is damaged. */
async function scene() {
  const storage = memoryStorage();
  const logged: Readonly<Record<string, unknown>>[] = [];
  const approvalAgent = agent({
    name: 'asks',
    run: async (ctx) => (await ctx.approval('book', { title: 'Book?', approvers: ['user:ann'] })).approved,
  });
  const options = { storage, keys, log: (_: string, __: string, fields: object) => void logged.push({ ...fields }) };
  const encrypted = approvalAgent.with(options);
  for (const [run, who] of [
    ['plain', approvalAgent.with({ storage })],
    ['broken', encrypted],
    ['good', encrypted],
  ] as const) {
    await who.start({}, { id: run });
    await who.invoke({ run }, { by: 'me', until: Date.now() + 60_000 });
  }
  const [there] = await storage.records.read('default/broken', [approvalKey('book')]);
  if (!there) throw new Error('expected the approval of run "broken"');
  const put = { ...there, revision: 'broken', meta: 'nonsense' };
  await storage.records.commit([{ put, when: { revision: there.revision } }]);
  logged.length = 0;
  return { operator: createOperator(encrypted.runtime), storage, encrypted, logged };
}

describe('approvals that cannot be read', () => {
  it('are logged and left out of an inbox, which lists the others', async () => {
    const { operator, logged } = await scene();
    expect((await operator.inbox('user:ann')).map(({ run }) => run)).toEqual(['good']);
    expect(logged.map(({ run, approval, error }) => [run, approval, error]).toSorted()).toEqual([
      ['broken', 'book', 'DAMAGED'],
      ['plain', 'book', 'RUN_NOT_ENCRYPTED'],
    ]);
  });

  it('are left out of the list of all pending approvals', async () => {
    const { operator, logged } = await scene();
    expect((await operator.pendingApprovals()).map(({ run }) => run)).toEqual(['good']);
    expect(logged.map(({ run }) => run).toSorted()).toEqual(['broken', 'plain']);
  });

  it('do not hide a storage that fails: then there is no list', async () => {
    const { encrypted, storage } = await scene();
    const read = () => Promise.reject(Object.assign(new Error('away'), { code: 'STORAGE_UNAVAILABLE', scope: 'run' }));
    const unavailable = { ...storage, records: { ...storage.records, read, range: read } };
    await expect(
      createOperator(encrypted.with({ storage: unavailable, keys }).runtime).inbox('user:ann'),
    ).rejects.toThrow('away');
  });
});
