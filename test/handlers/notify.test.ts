import { describe, expect, it } from 'vitest';
import { publishEvents } from '../../lambda/handlers/publish-events.ts';
import { isRetryable } from '../../lambda/handlers/stream-records.ts';
import { viewApproval } from '../../lambda/runtime/approvals/view.ts';
import { type HandlerScene, handlerScene } from './scene.ts';

/** Creates a run that requests an approval, with the protocol for other languages. */
async function requestApproval(scene: HandlerScene, approval: object = {}): Promise<void> {
  await scene.checkpoint({ waitstate: 1, action: 'start', run: 'q-1', agent: 'quotes', input: null });
  const { resume } = scene;
  await resume({ Records: await scene.nextRecords() });
  const requested = await scene.checkpoint({
    waitstate: 1,
    action: 'requestApproval',
    run: 'q-1',
    expectedVersion: 2,
    approval: {
      name: 'buy',
      title: 'Bücher kaufen?',
      approvers: ['user:ann', 'group:it'],
      timeout: { days: 2 },
      ...approval,
    },
  });
  expect(requested).toMatchObject({ ok: true, suspended: true });
}

const viewRequest = async ({ contexts }: HandlerScene) => viewApproval(await contexts.forRun('q-1'), 'buy');

describe('notify', () => {
  it('sends an event, a message and a call to the agent, and only the agent receives links', async () => {
    const scene = await handlerScene();
    await requestApproval(scene);
    expect(await scene.notify({ Records: await scene.nextRecords() })).toEqual({ batchItemFailures: [] });
    expect(scene.sent.events).toEqual([
      {
        bus: 'bus',
        type: 'Approval Requested',
        detail: {
          tenant: 'default',
          run: 'q-1',
          agent: 'quotes',
          approval: 'buy',
          name: 'buy',
          title: 'Bücher kaufen?',
          approvers: ['user:ann', 'group:it'],
          requestedAt: expect.any(String),
          deadline: expect.any(String),
        },
      },
    ]);
    expect(scene.sent.messages[0]).toMatchObject({ topic: 'topic', subject: 'Approval Requested: B cher kaufen?' });
    const call = scene.sent.invocations.at(-1);
    expect(call).toMatchObject({ name: 'quotes-fn', type: 'RequestResponse', event: { waitstate: 1, run: 'q-1' } });
    const { links } = Object(call?.event.notify) as { links: { person: string; url: string }[] };
    expect(links.map(({ person }) => person)).toEqual(['user:ann']);
    expect(JSON.stringify([scene.sent.events, scene.sent.messages])).not.toContain(links[0]?.url.split('/').at(-1));
    // The notification updates the approval, which must not cause another notification.
    await scene.notify({ Records: await scene.nextRecords() });
    expect(scene.sent.events).toHaveLength(1);
  });

  it.each(['bus', 'topic', 'quotes-fn'])('retries the notification until the %s accepts it', async (broken) => {
    const scene = await handlerScene();
    await requestApproval(scene);
    scene.failing.set(broken, Object.assign(new Error('not now'), { name: 'ServiceUnavailable' }));
    const Records = await scene.nextRecords();
    // The notification is due again later, so the ends of other runs do not wait for it.
    expect((await scene.notify({ Records })).batchItemFailures).toEqual([]);
    expect(scene.counts.get('NotificationFailed')).toBe(1);
    expect(scene.logged.join()).not.toContain('not now');
    scene.failing.clear();
    scene.clock.moveTo(scene.clock.now() + 61_000);
    expect(await scene.sweep()).toMatchObject({ approvals: 1, failed: 0 });
    expect(scene.counts.get('Notified')).toBe(1);
    expect(scene.sent.events.length).toBeGreaterThan(0);
  });

  it('counts an error of the notify hook as a failed notification', async () => {
    const scene = await handlerScene();
    await requestApproval(scene);
    scene.behind.set('quotes-fn', () => Promise.reject(new Error('SECRET')));
    // The notification is due again later, so other records do not wait for it.
    expect(await scene.notify({ Records: await scene.nextRecords() })).toEqual({ batchItemFailures: [] });
    expect(scene.logged.join()).not.toContain('SECRET');
    expect(scene.counts.get('NotificationFailed')).toBe(1);
    scene.behind.clear();
    scene.clock.moveTo(scene.clock.now() + 61_000);
    expect(await scene.sweep()).toMatchObject({ approvals: 1, failed: 0 });
    expect(scene.counts.get('Notified')).toBe(1);
  });

  it('leaves an approval in the inbox if there is no channel for notifications', async () => {
    const scene = await handlerScene({ publishes: false });
    await requestApproval(scene);
    scene.shared.agents.clear();
    expect(await scene.notify({ Records: await scene.nextRecords() })).toEqual({ batchItemFailures: [] });
    expect(scene.counts.get('UnknownAgent')).toBe(1);
    expect((await viewRequest(scene)).status).toBe('PENDING');
    scene.clock.moveTo(scene.clock.now() + 61_000);
    expect(await scene.sweep()).toMatchObject({ approvals: 0 });
  });

  it('sends no notification about an approval that ended before its record arrived', async () => {
    const scene = await handlerScene();
    await requestApproval(scene);
    const late = await scene.nextRecords();
    const { cancelRun } = await import('../../lambda/runtime/control/run-control.ts');
    await cancelRun({ contexts: scene.contexts, clock: scene.clock, random: () => 0, log: () => {} }, 'q-1');
    await scene.notify({ Records: late });
    expect(scene.sent.events).toEqual([]);
    await scene.notify({ Records: await scene.nextRecords() });
    expect(scene.sent.events.map(({ type }) => type)).toEqual(['Run Cancelled']);
    expect(scene.counts.get('RunCancelled')).toBe(1);
  });

  it('publishes one event when a run ends, without any of its content', async () => {
    const scene = await handlerScene();
    const save = { waitstate: 1, action: 'save', run: 'r', expectedVersion: 0, agent: 'quotes', state: 'SECRET' };
    await scene.checkpoint(save);
    const failure = { status: 'FAILED', error: { message: 'SECRET' } };
    await scene.checkpoint({ waitstate: 1, action: 'finish', run: 'r', expectedVersion: 1, ...failure });
    await scene.checkpoint({ waitstate: 1, action: 'save', run: 'r', expectedVersion: 2, tags: ['later'] });
    await scene.notify({ Records: await scene.nextRecords() });
    expect(scene.sent.events).toEqual([
      {
        bus: 'bus',
        type: 'Run Failed',
        detail: { tenant: 'default', run: 'r', agent: 'quotes', status: 'FAILED', version: 2 },
      },
    ]);
    expect(Object.fromEntries(scene.counts)).toEqual({ RunFailed: 1 });
  });

  it('does not have the stream deliver an event again that the bus can never accept', async () => {
    const publish = publishEvents({
      bus: 'bus',
      events: { send: async () => ({ FailedEntryCount: 1, Entries: [{ ErrorCode: 'MalformedDetail' }] }) } as never,
    });
    const rejected = publish?.({ type: 'Run Failed', detail: {} });
    await expect(rejected).rejects.toSatisfy((error) => !isRetryable(error));
    const busy = publishEvents({
      bus: 'bus',
      events: { send: async () => ({ FailedEntryCount: 1, Entries: [{ ErrorCode: 'InternalFailure' }] }) } as never,
    });
    await expect(busy?.({ type: 'Run Failed', detail: {} })).rejects.toSatisfy(isRetryable);
  });

  it('has the stream deliver the record again if the bus rejects the event', async () => {
    const scene = await handlerScene();
    await scene.checkpoint({ waitstate: 1, action: 'save', run: 'r', expectedVersion: 0, agent: 'quotes' });
    await scene.checkpoint({ waitstate: 1, action: 'finish', run: 'r', expectedVersion: 1, status: 'SUCCEEDED' });
    scene.failing.set('bus', new Error('not now'));
    const Records = await scene.nextRecords();
    expect((await scene.notify({ Records })).batchItemFailures).toHaveLength(1);
    scene.failing.clear();
    expect((await scene.notify({ Records })).batchItemFailures).toEqual([]);
    expect(scene.sent.events.map(({ type }) => type)).toEqual(['Run Succeeded']);
    expect(Object.fromEntries(scene.counts)).toEqual({ RunSucceeded: 1 });
  });
});
