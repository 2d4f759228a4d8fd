import { describe, expect, it } from 'vitest';
import { capacityRules } from '../../bench/capacity.ts';
import { countsSince } from '../../bench/counts.ts';
import { createDeployment } from '../../bench/deployment.ts';
import { formatFigure, formatMoney, formatMoneyRange, markdownTable } from '../../bench/markdown-table.ts';
import { findMissing, replaceTables } from '../../bench/page-tables.ts';
import { sum } from '../../bench/scale/ledger.ts';
import { recordingStorage } from '../../bench/scale/recording-storage.ts';
import { virtualTime } from '../../bench/scale/virtual-time.ts';
import { createDynamoTarget } from '../../bench/systems.ts';
import { startWire } from '../../bench/wire.ts';
import { freshText } from '../../bench/works.ts';
import { dynamoStorage, TABLE } from '../../lambda/dynamodb.ts';
import { agent } from '../../lambda/index.ts';
import { memoryStorage } from '../../lambda/memory.ts';
import { streamOf } from '../engines/table-stream.ts';

/** An agent that uses every kind of operation that is counted: small and large steps, a sleep and an approval. */
const trips = agent({
  name: 'trips',
  async run(ctx) {
    await ctx.step('small', () => freshText(1, 114));
    await ctx.step('large', () => freshText(2, 2222));
    await ctx.sleep('an hour', { hours: 1 });
    await ctx.approval('book', { title: 'Book?', approvers: ['user:ann', 'user:bob'], timeout: { days: 3 } });
  },
});

/** Takes a run from its start to its removal after retention. */
async function story({ at, clock, flow, sweep }: ReturnType<typeof createDeployment>): Promise<void> {
  const later = async (milliseconds: number) => {
    clock.moveTo(clock.now() + milliseconds);
    await sweep();
    await flow();
  };
  await at(trips).start({}, { id: 'run', owner: 'ada', retention: { days: 30 } });
  await flow();
  await later(3_600_000);
  await at(trips).run('run').decide({ approval: 'book', by: 'user:ann', answer: 'approve' });
  await flow();
  await later(31 * 86_400_000);
  await later(2 * 86_400_000);
}

describe('the simulated storage', () => {
  it('counts the same write units, read units, requests and objects as the wire to the engines', async () => {
    const wire = await startWire();
    try {
      const { writer, ...target } = await createDynamoTarget(wire);
      const nextRecords = await streamOf(wire.dynamo, target.table);
      const before = await wire.counts();
      await story(createDeployment({ storage: dynamoStorage(target), nextRecords, agents: [trips], writer }));
      const counts = countsSince(before, await wire.counts());

      const storage = recordingStorage(memoryStorage(), 512);
      await story(createDeployment({ storage, nextRecords: storage.nextRecords, agents: [trips], writer }));
      const { ledger } = storage.take();
      expect(sum(ledger.tableUnits) + sum(ledger.groupUnits)).toBe(counts.writeUnits);
      expect(sum(ledger.readUnits)).toBe(counts.readUnits);
      expect(ledger.requests.get('dynamodb')).toBe(Object.values(counts.requests).reduce((all, each) => all + each, 0));
      expect(sum(ledger.objects)).toBe(counts.s3.PUT);
      expect(counts.writeUnits).toBeGreaterThan(80);
    } finally {
      await wire.stop();
    }
  });

  it('counts index units in the group that an entry leaves and in the group that it enters', () => {
    const rules = capacityRules();
    rules.createTable({ TableName: 'runs', ...TABLE });
    const head = (status: string, time: string) => ({
      pk: { S: 'a/b' },
      sk: { S: 'cz' },
      m: { S: status },
      r: { S: time },
      sg: { S: `a/${status}` },
      so: { S: time },
    });
    expect([...rules.put('runs', head('READY', '1')).inGroups]).toEqual([['status a/READY', 1]]);
    expect([...rules.put('runs', head('SLEEPING', '2')).inGroups]).toEqual([
      ['status a/READY', 1],
      ['status a/SLEEPING', 1],
    ]);
    expect([...rules.put('runs', head('SLEEPING', '3')).inGroups]).toEqual([['status a/SLEEPING', 2]]);
    expect([...rules.remove('runs', { pk: { S: 'a/b' }, sk: { S: 'cz' } }).inGroups]).toEqual([
      ['status a/SLEEPING', 1],
    ]);
  });

  it('adds the latency of concurrent requests once, and the processor time of each request', async () => {
    const time = virtualTime();
    await Promise.all([time.pass(5), time.pass(30), time.pass(5).then(() => time.pass(5))]);
    expect(time.now()).toBe(30);
    await time.pass(1);
    expect(time.now()).toBe(31);

    const storage = recordingStorage(memoryStorage(), 1769);
    await Promise.all([1, 2, 3].map((n) => storage.records.read('a/b', [`k${n}`])));
    expect(storage.take().ms).toBe(3 + 5);
    for (const key of ['k1', 'k2', 'k3']) await storage.records.read('a/b', [key]);
    expect(storage.take().ms).toBe(3 * 6);
  });
});

describe('the tables of docs pages', () => {
  const table = markdownTable(
    ['what', 'many', 'price'],
    [
      ['a', 1234.5, formatMoney(1234.5)],
      ['b', 0.001, formatMoneyRange(0.023, 0.4)],
      ['c', 0, `**${formatFigure(12.345)}**`],
    ],
  );

  it('contain formatted numbers, aligned to the right', () => {
    expect(table.split('\n')).toEqual([
      '| what | many | price |',
      '|---|--:|--:|',
      '| a | 1,235 | $1,234.50 |',
      '| b | < 0.01 | $0.023–0.40 |',
      '| c | 0 | **12.3** |',
    ]);
  });

  it('are reported when a page does not contain them verbatim, and replace the old ones', () => {
    const sections = [{ title: 'Prices', table, sentence: 'It is paid for by 2 of them.' }];
    const page =
      'Before.\n\n| what | many | price |\n|---|---|---|\n| a | 1 | 2 |\n\nIt is paid for by 1 of them.\n\nAfter.\n';
    expect(findMissing(page, sections)).toEqual([table, 'It is paid for by 2 of them.']);
    const written = replaceTables(page, sections);
    expect(findMissing(written, sections)).toEqual([]);
    expect(written).toBe(`Before.\n\n${table}\n\nIt is paid for by 2 of them.\n\nAfter.\n`);
    expect(() => replaceTables('Nothing.', sections)).toThrow('text for "Prices"');
  });
});
