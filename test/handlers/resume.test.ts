import { describe, expect, it } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { startRun } from '../../lambda/runtime/control/start-run.ts';
import { addSignal } from '../../lambda/runtime/wake/events.ts';
import { type HandlerScene, handlerScene, headsIn } from './scene.ts';

const start = (scene: HandlerScene, id: string, agent = 'refunds') =>
  startRun(
    { contexts: scene.contexts, clock: scene.clock, random: () => 0.5, log: () => {} },
    { agent, input: {}, id },
  );

const throttled = () => Object.assign(new Error('Rate Exceeded.'), { name: 'TooManyRequestsException' });

describe('resume', () => {
  it('invokes the agent asynchronously when a run becomes ready', async () => {
    const scene = await handlerScene();
    await start(scene, 'r 1');
    expect(await scene.resume({ Records: await scene.nextRecords() })).toEqual({ batchItemFailures: [] });
    expect(scene.sent.invocations).toEqual([
      { name: 'refunds-fn', type: 'Event', event: { run: 'r 1', tenant: 'default' } },
    ]);
    expect(scene.counts.get('Delivered')).toBe(1);
  });

  it('skips a head that was already ready, a running one, and all other records', async () => {
    const scene = await handlerScene();
    const store = createCheckpointStore(scene.storage, { clock: () => scene.clock.now() });
    await store.save({ run: 'plain', state: { a: 1 }, name: 'first' });
    await start(scene, 'r-1');
    await scene.nextRecords();
    // A signal to a ready run changes only its head.
    await addSignal(await scene.contexts.forRun('r-1'), { name: 'go', value: 1 });
    const Records = await scene.nextRecords();
    expect(headsIn(Records)).toHaveLength(1);
    await scene.resume({ Records });
    expect(scene.sent.invocations).toEqual([]);
  });

  it('delivers an ending run once, when nobody has its lease', async () => {
    const scene = await handlerScene();
    await start(scene, 'r-1');
    const [record] = headsIn(await scene.nextRecords());
    const image = (work: object, status = 'ENDING') => {
      const there = Object(record?.dynamodb?.NewImage) as { m: { S: string } };
      const meta = { ...JSON.parse(there.m.S.slice(1)), status, work: { eventCount: 0, ...work } };
      return { ...there, m: { S: `1${JSON.stringify(meta)}` } };
    };
    const lease = { lease: { by: 'x', until: 1 } };
    const deliveries = async (OldImage: object | undefined, NewImage: object) => {
      scene.sent.invocations.length = 0;
      await scene.resume({ Records: [{ ...record, dynamodb: { NewImage, ...(OldImage && { OldImage }) } }] });
      return scene.sent.invocations.length;
    };
    expect(await deliveries(image({}, 'SLEEPING'), image({}))).toBe(1);
    expect(await deliveries(image(lease), image({}))).toBe(1);
    expect(await deliveries(image({}), image({ eventCount: 1 }))).toBe(0);
    expect(await deliveries(image({}, 'RUNNING'), image(lease))).toBe(0);
    // A lease that ended means that a function could not be invoked; the sweeper delivers the run.
    expect(await deliveries(image(lease, 'RUNNING'), image(lease, 'RUNNING'))).toBe(0);
  });

  it('reports a failed invocation by its sequence number and leaves the run unchanged for the sweeper', async () => {
    const scene = await handlerScene();
    await start(scene, 'r-1');
    await start(scene, 'r-2', 'other');
    scene.failing.set('refunds-fn', throttled());
    scene.shared.agents.set('other', { function: 'other-fn', hydrate: false });
    const Records = await scene.nextRecords();
    const failed = headsIn(Records)[0]?.dynamodb?.SequenceNumber;
    expect(await scene.resume({ Records })).toEqual({ batchItemFailures: [{ itemIdentifier: failed }] });
    expect(scene.sent.invocations.map(({ name }) => name)).toEqual(['other-fn']);
    expect(await scene.nextRecords()).toEqual([]);
    expect(scene.logged.join()).toContain('TooManyRequestsException');
    scene.failing.clear();
    scene.clock.moveTo(scene.clock.now() + 61_000);
    expect(await scene.sweep()).toMatchObject({ delivered: 2, failed: 0 });
  });

  it('counts an unknown agent and does not have the stream retry', async () => {
    const scene = await handlerScene();
    await start(scene, 'r-1', 'nobody');
    expect(await scene.resume({ Records: await scene.nextRecords() })).toEqual({ batchItemFailures: [] });
    expect(scene.counts.get('UnknownAgent')).toBe(1);
    expect(scene.logged.join()).toContain('WAITSTATE_AGENTS');
  });

  it('never fails a batch because of unreadable records', async () => {
    const scene = await handlerScene();
    await start(scene, 'r-1');
    const good = await scene.nextRecords();
    const [record] = headsIn(good);
    const image = Object(record?.dynamodb?.NewImage);
    const odd = [
      null,
      {},
      { dynamodb: null },
      { eventName: 'REMOVE', dynamodb: { OldImage: image, SequenceNumber: '1' } },
      { dynamodb: { NewImage: {} } },
      { dynamodb: { NewImage: { pk: { S: 'a/b' }, sk: { S: 'cz' }, r: { S: '1' }, m: { S: 'nonsense' } } } },
      { dynamodb: { NewImage: { ...image, m: { S: '9{}' } } } },
      { dynamodb: { NewImage: { ...image, m: { N: '1' } } } },
      { dynamodb: { NewImage: 7, OldImage: 'x' } },
    ];
    const Records = [...odd, ...good, ...odd] as never;
    expect(await scene.resume({ Records })).toEqual({ batchItemFailures: [] });
    expect(await scene.notify({ Records })).toEqual({ batchItemFailures: [] });
    expect(scene.sent.invocations).toHaveLength(1);
    expect(scene.counts.get('MalformedRecord')).toBeGreaterThan(5);
    expect(await scene.resume({} as never)).toEqual({ batchItemFailures: [] });
  });

  it('skips the tombstone of a deleted run', async () => {
    const scene = await handlerScene();
    const store = createCheckpointStore(scene.storage, { clock: () => scene.clock.now() });
    await store.save({ run: 'r-1', status: 'READY', state: 1, agent: 'refunds' });
    await scene.nextRecords();
    await store.delete('r-1');
    const Records = await scene.nextRecords();
    await scene.resume({ Records });
    // Also if the stream has no other record of the run.
    const alone = headsIn(Records).map((record) => ({ dynamodb: { NewImage: Object(record.dynamodb?.NewImage) } }));
    expect(alone.length).toBeGreaterThan(0);
    await scene.resume({ Records: alone });
    expect(scene.sent.invocations).toEqual([]);
    expect([...scene.counts]).toEqual([]);
  });
});
