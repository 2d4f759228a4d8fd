import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { WaitstateError } from '../../lambda/core/errors.ts';
import { HEAD_KEY } from '../../lambda/storage/keys.ts';
import { linkFor } from '../runtime/approvals/scene.ts';
import { type HandlerScene, handlerScene } from './scene.ts';

const start = (scene: HandlerScene, run: string, agent = 'refunds', tenant = 'default') =>
  scene.checkpoint({ waitstate: 1, action: 'start', run, agent, tenant, input: null });

describe('sweep', () => {
  it('delivers runs of every tenant that the stream did not, and counts them', async () => {
    const scene = await handlerScene();
    await start(scene, 'r-1');
    await start(scene, 'r-2', 'refunds', 'acme');
    expect(await scene.sweep()).toMatchObject({ delivered: 0, failed: 0 });
    scene.clock.moveTo(scene.clock.now() + 60_000);
    expect(await scene.sweep()).toEqual({
      delivered: 2,
      redelivered: 0,
      timedOut: 0,
      approvals: 0,
      expired: 0,
      freed: 0,
      removed: 0,
      failed: 0,
    });
    expect(scene.sent.invocations.map(({ event }) => event.tenant).sort()).toEqual(['acme', 'default']);
    expect(scene.counts.get('SweepDelivered')).toBe(2);
    expect(scene.counts.has('SweepFailed')).toBe(false);
  });

  it('processes only the shards in its event, so that several sweepers can share the work', async () => {
    const scene = await handlerScene();
    for (let n = 1; n <= 12; n++) await start(scene, `r-${n}`);
    scene.clock.moveTo(scene.clock.now() + 60_000);
    const [even, odd] = [
      [0, 2, 4, 6],
      [1, 3, 5, 7, 7],
    ];
    const first = await scene.sweep({ shards: even });
    expect(first.delivered).toBeGreaterThan(0);
    expect(first.delivered).toBeLessThan(12);
    expect(first.delivered + (await scene.sweep({ shards: odd })).delivered).toBe(12);
    expect((await scene.sweep({ shards: [] })).delivered).toBe(0);
    for (const shards of [[8], [-1], [0.5], ['0'], 'all', { 0: 1 }])
      await expect(scene.sweep({ shards })).rejects.toThrow(
        '`shards` in the event of a sweep must be a list of numbers from 0 to 7',
      );
  });

  it('writes no metric that is 0', async () => {
    const scene = await handlerScene();
    await scene.sweep();
    expect([...scene.counts.keys()]).toEqual([]);
  });

  it('logs and counts that its clock is wrong', async () => {
    const scene = await handlerScene({ clockAheadMs: 600_000 });
    await scene.sweep();
    expect(Math.abs((scene.counts.get('ClockDifferenceSeconds') ?? 0) - 600)).toBeLessThan(20);
    expect(scene.logged.filter((line) => line.includes('"level":"warn"') && line.includes('clock'))).toHaveLength(1);
  });

  it('continues if single runs fail, logs them, and retries them with backoff', async () => {
    const scene = await handlerScene();
    await start(scene, 'lost', 'nobody');
    await start(scene, 'throttled', 'quotes');
    await start(scene, 'good');
    scene.failing.set('quotes-fn', Object.assign(new Error('Rate Exceeded.'), { name: 'TooManyRequestsException' }));
    scene.clock.moveTo(scene.clock.now() + 60_000);
    expect(await scene.sweep()).toMatchObject({ delivered: 1, failed: 2 });
    expect(scene.sent.invocations.map(({ event }) => event.run)).toEqual(['good']);
    const log = scene.logged.join('\n');
    expect(log).toContain('"run":"lost"');
    expect(log).toContain('AGENT_NOT_FOUND');
    expect(log).toContain('TooManyRequestsException');
    // They are not due again immediately.
    expect(await scene.sweep()).toMatchObject({ delivered: 0, failed: 0 });
    scene.clock.moveTo(scene.clock.now() + 60_000);
    expect(await scene.sweep()).toMatchObject({ failed: 2 });
    scene.clock.moveTo(scene.clock.now() + 60_000);
    expect(await scene.sweep()).toMatchObject({ failed: 0 });
  });

  it('logs all damaged records in one line and sweeps the rest', async () => {
    const scene = await handlerScene();
    const bad = Array.from({ length: 7 }, (_, n) => `bad-${n}`);
    for (const run of [...bad, 'good']) await start(scene, run);
    for (const run of bad) {
      const [head] = await scene.storage.records.read(`default/${run}`, [HEAD_KEY]);
      if (!head) throw new Error('There is no head.');
      const damaged = { ...head, revision: 'x', meta: '1{"nonsense":true}' };
      await scene.storage.records.commit([{ put: damaged, when: { revision: head.revision } }]);
    }
    scene.clock.moveTo(scene.clock.now() + 60_000);
    scene.logged.length = 0;
    expect(await scene.sweep()).toMatchObject({ delivered: 1, failed: 7 });
    const lines = scene.logged.filter((line) => line.includes('DAMAGED'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('"count":7');
    expect(lines[0]?.match(/"run":"bad-\d","error":"DAMAGED"/g)).toHaveLength(5);
    expect(scene.logged.join()).not.toContain('could not be swept');
  });

  it('removes an expired link of an older format, which has no time to live', async () => {
    const scene = await handlerScene();
    await scene.checkpoint({ waitstate: 1, action: 'save', run: 'r', expectedVersion: 0, state: 1 });
    const now = await scene.contexts.forRun('r');
    const at = { ...now, records: { ...now.records, removesExpired: false } };
    const expiresAt = scene.clock.now() + 60_000;
    for (const each of [at, now])
      await linkFor(each, { tenant: at.tenant, run: 'r', approval: 'a', person: 'user:ann', expiresAt });
    scene.clock.moveTo(expiresAt - 1);
    expect(await scene.sweep()).toMatchObject({ removed: 0, failed: 0 });
    scene.clock.moveTo(expiresAt);
    expect(await scene.sweep()).toMatchObject({ removed: 1, failed: 0 });
    expect(await scene.sweep()).toMatchObject({ removed: 0, failed: 0 });
  });

  it('expires an approval after its timeout and resumes its run', async () => {
    const scene = await handlerScene();
    await start(scene, 'q', 'quotes');
    await scene.resume({ Records: await scene.nextRecords() });
    await scene.checkpoint({
      waitstate: 1,
      action: 'requestApproval',
      run: 'q',
      expectedVersion: 2,
      approval: {
        name: 'buy',
        title: 'Buy?',
        approvers: ['user:ann'],
        timeout: { hours: 2 },
        remindAfter: { hours: 1 },
      },
    });
    await scene.notify({ Records: await scene.nextRecords() });
    scene.clock.moveTo(scene.clock.now() + 3_600_000);
    await scene.sweep();
    expect(scene.sent.events.map(({ type }) => type)).toEqual(['Approval Requested', 'Approval Reminder']);
    scene.clock.moveTo(scene.clock.now() + 3_600_000);
    expect(await scene.sweep()).toMatchObject({ failed: 0 });
    expect(scene.sent.invocations.at(-1)).toMatchObject({
      type: 'Event',
      event: { approvals: [{ approval: 'buy', approved: false, status: 'EXPIRED' }] },
    });
  });
});

describe('the scheduled collection', () => {
  const HOUR = 3_600_000;
  const objects = async ({ storage }: HandlerScene) => {
    const found: string[] = [];
    for await (const { partition, id } of storage.payloads.list()) found.push(`${partition} ${id.replace(/\W.*/, '')}`);
    return found;
  };
  /** A payload that nothing refers to, as a crash or a hand-over leaves it. */
  const orphan = ({ storage }: HandlerScene, partition: string, name = 'orphan') =>
    storage.payloads.put(partition, `invocation-${name.padEnd(16, '0')}`, Buffer.from('x'));

  it('removes payloads that nothing refers to once a day, and keeps all others', async () => {
    const scene = await handlerScene();
    const text = randomBytes(250_000).toString('hex');
    await scene.checkpoint({ waitstate: 1, action: 'start', run: 'r-1', agent: 'refunds', input: { text } });
    const live = await objects(scene);
    expect(live.length).toBeGreaterThan(0);
    await orphan(scene, 'default/r-1');
    await orphan(scene, 'acme/r-2');
    const start = Date.now();
    scene.clock.moveTo(start + 23 * HOUR);
    expect(await scene.collect()).toMatchObject({ payloadsRemoved: 0, failed: 0 });
    scene.clock.moveTo(start + 46 * HOUR);
    // The last pass was less than a day ago.
    expect(await scene.collect()).toMatchObject({ payloadsRemoved: 0 });
    scene.clock.moveTo(start + 48 * HOUR);
    expect(await scene.collect()).toEqual({ payloadsRemoved: 2, bytesRemoved: 2, failed: 0 });
    expect(await objects(scene)).toEqual(live);
    expect(scene.counts.get('PayloadsCollected')).toBe(2);
  });

  it('lists each tenant by itself if the deployment has tenants, as their roles allow', async () => {
    const scene = await handlerScene();
    const scopes: (string | undefined)[] = [];
    const { list } = scene.storage.payloads;
    scene.storage.payloads.list = (scope, after) => {
      scopes.push(scope);
      return list(scope, after);
    };
    for (const tenant of ['acme', 'globex', 'other']) await orphan(scene, `${tenant}/r`);
    scene.clock.moveTo(Date.now() + 25 * HOUR);
    expect(await scene.collect(['acme', 'globex'])).toMatchObject({ payloadsRemoved: 2, failed: 0 });
    expect(scopes).toEqual(['acme', 'globex']);
    scene.storage.payloads.list = list;
    expect(await objects(scene)).toEqual(['other/r invocation']);
  });

  it('stops after some minutes, and the next invocation continues behind the last run', async () => {
    const scene = await handlerScene();
    for (let run = 1; run <= 3; run++) await orphan(scene, `default/r-${run}`);
    scene.clock.moveTo(Date.now() + 25 * HOUR);
    const { remove } = scene.storage.payloads;
    // Each run takes four minutes.
    scene.storage.payloads.remove = async (partition, ids) => {
      scene.clock.moveTo(scene.clock.now() + 4 * 60_000);
      await remove(partition, ids);
    };
    expect(await scene.collect()).toMatchObject({ payloadsRemoved: 1 });
    expect(await scene.collect()).toMatchObject({ payloadsRemoved: 1 });
    expect(await objects(scene)).toHaveLength(1);
    expect(await scene.collect()).toMatchObject({ payloadsRemoved: 1 });
    expect(await scene.collect()).toMatchObject({ payloadsRemoved: 0 });
  });

  it('examines the payloads of a run again that could not be collected for now', async () => {
    const scene = await handlerScene();
    await orphan(scene, 'default/r-1');
    const start = Date.now();
    scene.clock.moveTo(start + 25 * HOUR);
    const { remove } = scene.storage.payloads;
    scene.storage.payloads.remove = () => Promise.reject(new WaitstateError('STORAGE_UNAVAILABLE', 'Not now.'));
    expect(await scene.collect()).toMatchObject({ payloadsRemoved: 0, failed: 1 });
    expect(scene.counts.get('CollectionFailed')).toBe(1);
    scene.storage.payloads.remove = remove;
    scene.clock.moveTo(start + 50 * HOUR);
    expect(await scene.collect()).toMatchObject({ payloadsRemoved: 1, failed: 0 });
  });
});
