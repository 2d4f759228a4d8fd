import { describe, expect, it } from 'vitest';
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
