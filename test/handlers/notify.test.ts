import { describe, expect, it } from 'vitest';
import { viewApproval } from '../../lambda/runtime/approvals/view.ts';
import { type HandlerScene, handlerScene } from './scene.ts';

/** A run of an agent that asks, by the protocol for other languages. */
async function asking(scene: HandlerScene, approval: object = {}): Promise<void> {
  await scene.checkpoint({ waitstate: 1, action: 'start', run: 'q-1', agent: 'quotes', input: null });
  const { resume } = scene;
  await resume({ Records: await scene.nextRecords() });
  const asked = await scene.checkpoint({
    ...{ waitstate: 1, action: 'requestApproval', run: 'q-1', expectedVersion: 2 },
    approval: {
      name: 'buy',
      title: 'Bücher kaufen?',
      approvers: ['user:ann', 'group:it'],
      timeout: { days: 2 },
      ...approval,
    },
  });
  expect(asked).toMatchObject({ ok: true, suspended: true });
}

const told = async ({ contexts }: HandlerScene) => viewApproval(await contexts.forRun('q-1'), 'buy');

describe('notify', () => {
  it('tells by an event, a message and the function of the agent, and only that one gets links', async () => {
    const scene = await handlerScene();
    await asking(scene);
    expect(await scene.notify({ Records: await scene.nextRecords() })).toEqual({ batchItemFailures: [] });
    expect(scene.sent.events).toEqual([
      {
        ...{ bus: 'bus', type: 'Approval Requested' },
        detail: {
          ...{ tenant: 'default', run: 'q-1', agent: 'quotes', approval: 'buy', name: 'buy', title: 'Bücher kaufen?' },
          ...{ approvers: ['user:ann', 'group:it'], askedAt: expect.any(String), deadline: expect.any(String) },
        },
      },
    ]);
    expect(scene.sent.messages[0]).toMatchObject({ topic: 'topic', subject: 'Approval Requested: B cher kaufen?' });
    const call = scene.sent.invocations.at(-1);
    expect(call).toMatchObject({ name: 'quotes-fn', type: 'RequestResponse', event: { waitstate: 1, run: 'q-1' } });
    const { links } = Object(call?.event.notify) as { links: { person: string; url: string }[] };
    expect(links.map(({ person }) => person)).toEqual(['user:ann']);
    expect(JSON.stringify([scene.sent.events, scene.sent.messages])).not.toContain(links[0]?.url.split('/').at(-1));
    // That it was told changes the approval, which is nothing new to tell.
    await scene.notify({ Records: await scene.nextRecords() });
    expect(scene.sent.events).toHaveLength(1);
  });

  it.each(['bus', 'topic', 'quotes-fn'])('has not told anybody until %s has taken it', async (broken) => {
    const scene = await handlerScene();
    await asking(scene);
    scene.failing.set(broken, Object.assign(new Error('not now'), { name: 'ServiceUnavailable' }));
    const Records = await scene.nextRecords();
    expect((await scene.notify({ Records })).batchItemFailures).toHaveLength(1);
    expect(scene.counts.get('NotificationFailed')).toBe(1);
    expect(scene.logged.join()).not.toContain('not now');
    scene.failing.clear();
    // The stream's own retry comes too early: it was noted that somebody tried.
    expect((await scene.notify({ Records })).batchItemFailures).toEqual([]);
    scene.clock.moveTo(scene.clock.now() + 61_000);
    expect(await scene.sweep()).toMatchObject({ approvals: 1, failed: 0 });
    expect(scene.counts.get('Notified')).toBe(1);
    expect(scene.sent.events.length).toBeGreaterThan(0);
  });

  it('takes an error of the agent’s own hook for people who were not told', async () => {
    const scene = await handlerScene();
    await asking(scene);
    scene.behind.set('quotes-fn', () => Promise.reject(new Error('SECRET')));
    // Nobody else's records wait for that: it is due again later.
    expect(await scene.notify({ Records: await scene.nextRecords() })).toEqual({ batchItemFailures: [] });
    expect(scene.logged.join()).not.toContain('SECRET');
    expect(scene.counts.get('NotificationFailed')).toBe(1);
    scene.behind.clear();
    scene.clock.moveTo(scene.clock.now() + 61_000);
    expect(await scene.sweep()).toMatchObject({ approvals: 1, failed: 0 });
    expect(scene.counts.get('Notified')).toBe(1);
  });

  it('leaves an approval to the inbox when there is no way to tell anybody', async () => {
    const scene = await handlerScene({ announces: false });
    await asking(scene);
    scene.shared.agents.clear();
    expect(await scene.notify({ Records: await scene.nextRecords() })).toEqual({ batchItemFailures: [] });
    expect(scene.counts.get('UnknownAgent')).toBe(1);
    expect((await told(scene)).status).toBe('PENDING');
    scene.clock.moveTo(scene.clock.now() + 61_000);
    expect(await scene.sweep()).toMatchObject({ approvals: 0 });
  });

  it('tells nobody of an approval that ended before the record came', async () => {
    const scene = await handlerScene();
    await asking(scene);
    const late = await scene.nextRecords();
    const { cancelRun } = await import('../../lambda/runtime/control/run-control.ts');
    await cancelRun({ contexts: scene.contexts, clock: scene.clock, random: () => 0, log: () => {} }, 'q-1');
    await scene.notify({ Records: late });
    expect(scene.sent.events).toEqual([]);
    await scene.notify({ Records: await scene.nextRecords() });
    expect(scene.sent.events.map(({ type }) => type)).toEqual(['Run Cancelled']);
    expect(scene.counts.get('RunCancelled')).toBe(1);
  });

  it('says once that a run ended, and how, and nothing of what it did', async () => {
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

  it('has a completion event delivered again that the bus did not take', async () => {
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
