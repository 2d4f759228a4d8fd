import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { beforeAll, describe, expect, it } from 'vitest';
import { clockDifference } from '../../lambda/storage/dynamodb/clock-difference.ts';
import { dynamoRecordStore } from '../../lambda/storage/dynamodb/dynamo-records.ts';
import { dynamoClient, freshTable } from '../engines/engines.ts';
import { randomFrom } from '../faults/seeded.ts';

const MINUTE = 60_000;
const START = Date.UTC(2030, 0, 1);

/** A clock that is ahead of a storage, and requests to this storage. */
function measured(initialAheadMs: number) {
  const difference = clockDifference();
  let aheadMs = initialAheadMs;
  let now = START;
  return {
    /** The difference after a request whose way there and back takes so long. */
    request(thereMs: number, backMs: number): number | undefined {
      const sentAt = now + aheadMs;
      now += thereMs;
      const date = Math.floor(now / 1000) * 1000;
      now += backMs;
      difference.observe(sentAt, now + aheadMs, date);
      return difference.aheadMs();
    },
    wait(milliseconds: number): void {
      now += milliseconds;
    },
    setClock(newAheadMs: number): void {
      aheadMs = newAheadMs;
    },
  };
}

describe('the difference between two clocks', () => {
  it('is unknown before the first response, and 0 if responses have no date', () => {
    const difference = clockDifference();
    expect(difference.aheadMs()).toBeUndefined();
    difference.observe(START, START + 10, Number.NaN);
    expect(difference.aheadMs()).toBe(0);
  });

  it.each([10 * MINUTE, 5_000, -5_000, -3 * 3_600_000])(
    'is known to a second after one response if it is %d ms',
    (ahead) => {
      for (let phase = 0; phase < 1_000; phase += 37) {
        const clock = measured(ahead);
        clock.wait(phase);
        expect(Math.abs((clock.request(5, 5) ?? 0) - ahead)).toBeLessThanOrEqual(1_010);
      }
    },
  );

  it.each([0, 990, -990])('is 0 for a clock that is in sync or %d ms ahead, in any second', (ahead) => {
    const random = randomFrom(1);
    const clock = measured(ahead);
    const found = Array.from({ length: 2_000 }, () => clock.request(random() * 4_000, random() ** 9 * 4_000));
    expect(new Set(found)).toEqual(new Set([0]));
  });

  it('does not change with a slow response, in either direction', () => {
    const clock = measured(10 * MINUTE);
    const before = clock.request(5, 5);
    expect(clock.request(5, 4 * MINUTE)).toBe(before);
    expect(clock.request(4 * MINUTE, 5)).toBe(before);
  });

  it('is always within the error of a date, and rarely changes', () => {
    const random = randomFrom(2);
    const clock = measured(10 * MINUTE);
    const found = Array.from({ length: 500 }, () => {
      clock.wait(random() * 5_000);
      return clock.request(random() * 50, random() * 50) ?? 0;
    });
    expect(found.filter((each) => Math.abs(each - 10 * MINUTE) > 1_100)).toEqual([]);
    expect(new Set(found).size).toBeLessThan(5);
  });

  it('follows a clock that is set', () => {
    const clock = measured(10 * MINUTE);
    clock.request(5, 5);
    clock.setClock(0);
    expect(Math.abs(clock.request(5, 5) ?? 9e9)).toBeLessThanOrEqual(1_010);
    clock.setClock(-10 * MINUTE);
    expect(Math.abs((clock.request(5, 5) ?? 0) + 10 * MINUTE)).toBeLessThanOrEqual(1_010);
  });

  it('ignores a response during which the clock was set back', () => {
    const difference = clockDifference();
    difference.observe(START + MINUTE, START, START);
    expect(difference.aheadMs()).toBe(0);
  });
});

describe('a record store on DynamoDB', () => {
  let table: string;
  beforeAll(async () => {
    table = await freshTable();
  });

  it.each([10 * MINUTE, -10 * MINUTE])('measures by its first response a clock that is %d ms ahead', async (ahead) => {
    const store = dynamoRecordStore({ table, client: dynamoClient(), clock: () => Date.now() + ahead });
    expect(store.clockAheadMs()).toBeUndefined();
    await store.read('a/b', ['c1']);
    expect(Math.abs((store.clockAheadMs() ?? 0) - ahead)).toBeLessThan(10_000);
  });

  it('measures the clock by a response that is an error, too', async () => {
    const clock = () => Date.now() + 10 * MINUTE;
    const store = dynamoRecordStore({ table: 'missing-table', client: dynamoClient(), clock, maxAttempts: 1 });
    await expect(store.range('a/b')).rejects.toMatchObject({ code: 'STORAGE_MISSING' });
    expect(store.clockAheadMs()).toBeGreaterThan(9 * MINUTE);
  });

  it('does not learn the time from a request without a response', async () => {
    const client = new DynamoDBClient({
      endpoint: 'http://127.0.0.1:9',
      region: 'eu-central-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      maxAttempts: 1,
    });
    const store = dynamoRecordStore({ table, client, maxAttempts: 1 });
    await expect(store.read('a/b', ['c1'])).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    expect(store.clockAheadMs()).toBeUndefined();
  });

  it('adds nothing to the client of its caller', async () => {
    const client = dynamoClient();
    const before = client.middlewareStack.identify();
    for (let i = 0; i < 3; i++) await dynamoRecordStore({ table, client }).read('a/b', ['c1']);
    expect(client.middlewareStack.identify()).toEqual(before);
    const Key = { pk: { S: 'a/b' }, sk: { S: 'c1' } };
    await client.send(new GetItemCommand({ TableName: table, Key }));
  });
});
