import { describe, expect, it } from 'vitest';
import { localKeys } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { readLiveHead } from '../../lambda/checkpoints/read-head.ts';
import { HEAD_KEY } from '../../lambda/storage/keys.ts';
import { type HandlerScene, handlerScene, linkEvent } from './scene.ts';

const request = (scene: HandlerScene, action: string, fields: object) =>
  scene.checkpoint({ waitstate: 1, action, tenant: 'acme', run: 'q-1', ...fields });

const started = async (scene: HandlerScene, fields: object = {}) => {
  expect(await request(scene, 'start', { agent: 'quotes', input: { amount: 12 }, ...fields })).toMatchObject({
    ok: true,
  });
  await scene.flow();
};

const head = async ({ contexts }: HandlerScene, run = 'acme/q-1') => {
  const context = await contexts.forTenant();
  const at = { ...context, tenant: 'acme', run: 'q-1', partition: run };
  return (await readLiveHead(at)).meta;
};

/** The fields of an invocation that these tests check. */
interface HydratedEvent {
  readonly checkpoint: Readonly<Record<string, unknown>> & { readonly version: number };
  readonly contentUrl: string;
  readonly [field: string]: unknown;
}

const last = (scene: HandlerScene): HydratedEvent =>
  scene.sent.invocations.findLast(({ type }) => type === 'Event')?.event as unknown as HydratedEvent;

describe('a function with hydrated runs', () => {
  it('is invoked with input, state, results and the version to resume from', async () => {
    const scene = await handlerScene();
    await started(scene);
    const first = last(scene);
    expect(first).toMatchObject({
      waitstate: 1,
      tenant: 'acme',
      run: 'q-1',
      agent: 'quotes',
      input: { amount: 12 },
      approvals: [],
      signals: [],
      checkpoint: { version: 2, status: 'RUNNING', state: null, toolResults: {} },
    });
    const saved = await request(scene, 'save', {
      expectedVersion: 2,
      state: { note: 'hi', at: { $: ['date', 5] } },
      step: 'look',
      status: 'READY',
      toolResults: { 'call-1': { found: null }, 'call-2': { kind: 'sleep' } },
    });
    expect(saved).toMatchObject({ ok: true, version: 3, status: 'READY' });
    await scene.flow();
    expect(last(scene).checkpoint).toMatchObject({
      version: 4,
      stepNumber: 1,
      state: { note: 'hi', at: { $: ['date', 5] } },
      toolResults: { 'call-1': { found: null }, 'call-2': { kind: 'sleep' } },
    });
    expect((await head(scene)).work?.lease).toMatchObject({ until: scene.clock.now() + 902_000 });
  });

  it('is invoked again with decisions and received signals', async () => {
    const scene = await handlerScene();
    await started(scene);
    const approval = { name: 'buy', title: 'Buy?', approvers: ['user:ann'], show: { price: 3 }, timeout: { days: 1 } };
    const requested = await request(scene, 'requestApproval', { expectedVersion: 2, state: { at: 'buy' }, approval });
    expect(requested).toEqual({
      ok: true,
      version: 3,
      status: 'WAITING_FOR_APPROVAL',
      suspended: true,
      approval: 'buy',
    });
    expect((await head(scene)).work).toMatchObject({ approvals: ['buy'] });
    expect((await head(scene)).work).not.toHaveProperty('lease');
    await scene.flow();
    const notified = scene.sent.invocations.find(({ type }) => type === 'RequestResponse')?.event as {
      notify: { links: { person: string; url: string }[] };
    };
    const [link] = notified.notify.links;
    expect(link).toMatchObject({
      person: 'user:ann',
      url: expect.stringMatching(/^https:\/\/approve\.test\/approvals\//),
    });
    const token = link?.url.split('/').at(-1);
    const response = await scene.api(linkEvent('POST', token ?? '', '{"answer":"approve","comment":"go"}'));
    expect(response.statusCode).toBe(200);
    await scene.flow();
    expect(last(scene)).toMatchObject({
      checkpoint: { version: 4, status: 'RUNNING', state: { at: 'buy' } },
      approvals: [{ approval: 'buy', approved: true, by: ['user:ann'], comment: 'go' }],
      waiting: [],
    });
    expect(await request(scene, 'waitForSignal', { expectedVersion: 4, signal: 'shipped' })).toMatchObject({
      version: 5,
      status: 'WAITING_FOR_SIGNAL',
      suspended: true,
    });
    await request(scene, 'signal', { signal: 'shipped', value: { code: 7 } });
    await scene.flow();
    expect(last(scene).signals).toEqual([{ name: 'shipped', value: { code: 7 } }]);
    const end = { expectedVersion: last(scene).checkpoint.version, status: 'SUCCEEDED', result: { done: true } };
    expect(await request(scene, 'finish', end)).toMatchObject({ ok: true, status: 'SUCCEEDED' });
    await scene.flow();
    expect(scene.sent.events.map(({ type }) => type)).toEqual(['Approval Requested', 'Run Succeeded']);
    expect((await head(scene)).work).not.toHaveProperty('dueAt');
  });

  it('is not invoked for an event that its run does not wait for, which is kept', async () => {
    const scene = await handlerScene();
    await started(scene);
    await request(scene, 'waitForSignal', { expectedVersion: 2, signal: 'wanted', state: 1 });
    await scene.flow();
    const before = scene.sent.invocations.length;
    await request(scene, 'signal', { signal: 'other', value: 1 });
    await scene.flow();
    expect(scene.sent.invocations).toHaveLength(before);
    expect((await head(scene)).status).toBe('WAITING_FOR_SIGNAL');
    await request(scene, 'signal', { signal: 'wanted', value: 2 });
    await scene.flow();
    expect(last(scene).signals).toEqual([{ name: 'wanted', value: 2 }]);
    // The other signal is still there for a later wait.
    const { version } = last(scene).checkpoint;
    expect(await request(scene, 'waitForSignal', { expectedVersion: version, signal: 'other' })).toMatchObject({
      ok: true,
      status: 'RUNNING',
      suspended: false,
    });
    expect(await request(scene, 'load', {})).toMatchObject({
      signals: expect.arrayContaining([{ name: 'other', value: 1 }]),
    });
  });

  it('is invoked with the timeout of a signal', async () => {
    const scene = await handlerScene();
    await started(scene);
    await request(scene, 'waitForSignal', { expectedVersion: 2, signal: 'go', timeout: { hours: 1 } });
    scene.clock.moveTo(scene.clock.now() + 3_600_000);
    expect(await scene.sweep()).toMatchObject({ delivered: 1, failed: 0 });
    expect(last(scene).signals).toEqual([{ name: 'go', timedOut: true }]);
  });

  it('is not invoked again by duplicate stream records while it has the lease', async () => {
    const scene = await handlerScene();
    await request(scene, 'start', { agent: 'quotes', input: null });
    const Records = await scene.nextRecords();
    for (let times = 0; times < 7; times++) expect(await scene.resume({ Records })).toEqual({ batchItemFailures: [] });
    expect(scene.sent.invocations).toHaveLength(1);
    expect(await head(scene)).toMatchObject({ status: 'RUNNING', work: { claims: 1 } });
    const { version } = last(scene).checkpoint;
    expect(await request(scene, 'finish', { expectedVersion: version, status: 'SUCCEEDED' })).toMatchObject({
      ok: true,
    });
  });

  it('keeps its attempts if it cannot be invoked, and the sweeper retries with backoff', async () => {
    const scene = await handlerScene();
    await request(scene, 'start', { agent: 'quotes', input: null });
    scene.failing.set('quotes-fn', Object.assign(new Error('gone'), { name: 'ResourceNotFoundException' }));
    const Records = await scene.nextRecords();
    for (let tried = 0; tried < 8; tried++) expect((await scene.resume({ Records })).batchItemFailures).toHaveLength(1);
    // None of these writes wakes the run, so a missing function causes no loop.
    const written = await scene.nextRecords();
    expect(await scene.resume({ Records: written })).toEqual({ batchItemFailures: [] });
    const pauses: number[] = [];
    for (let sweeps = 0; sweeps < 4; sweeps++) {
      const { work } = await head(scene);
      pauses.push((work?.dueAt ?? 0) - scene.clock.now());
      scene.clock.moveTo(work?.dueAt ?? 0);
      expect(await scene.sweep()).toMatchObject({ failed: 1 });
    }
    expect(pauses).toEqual([60_000, 60_000, 120_000, 240_000]);
    expect((await head(scene)).work?.claims).toBe(0);
    scene.failing.clear();
    scene.clock.moveTo((await head(scene)).work?.dueAt ?? 0);
    expect(await scene.sweep()).toMatchObject({ delivered: 1, failed: 0 });
    expect(last(scene).checkpoint.status).toBe('RUNNING');
  });

  it('is invoked again after a crash, and late writes of the crashed one are refused', async () => {
    const scene = await handlerScene();
    await started(scene);
    scene.clock.moveTo(scene.clock.now() + 903_000);
    await scene.sweep();
    expect(last(scene).checkpoint.version).toBe(3);
    const late = await request(scene, 'save', { expectedVersion: 2, state: 'late' });
    expect(late).toMatchObject({
      ok: false,
      error: { code: 'STALE_VERSION', found: { version: 3, status: 'RUNNING' } },
    });
    expect(await request(scene, 'save', { expectedVersion: 3, state: 'new' })).toMatchObject({ ok: true, version: 4 });
  });

  it('receives a URL for content that is too large for an event', async () => {
    const scene = await handlerScene();
    await started(scene);
    const state = { text: 'x'.repeat(300_000) };
    await request(scene, 'save', { expectedVersion: 2, state, status: 'READY' });
    await scene.flow();
    expect(scene.logged).toEqual([]);
    const event = last(scene);
    expect(Object.keys(event).sort()).toEqual(['agent', 'checkpoint', 'contentUrl', 'run', 'tenant', 'waitstate']);
    const content = (await (await fetch(event.contentUrl)).json()) as { checkpoint: object; input: object };
    expect(content).toMatchObject({ checkpoint: { ...event.checkpoint, state }, input: { amount: 12 } });
    expect(await request(scene, 'load', {})).toMatchObject({ ok: true, contentUrl: expect.any(String) });
  });

  it('receives encrypted content in the event, and nothing is stored in plain text', async () => {
    const keys = localKeys({ current: 'k', keys: { k: Buffer.alloc(32, 7) } });
    const scene = await handlerScene({ keys });
    await started(scene);
    const state = { text: 'x'.repeat(300_000) };
    await request(scene, 'save', { expectedVersion: 2, state, status: 'READY' });
    await scene.flow();
    expect(last(scene).checkpoint.state).toEqual(state);
    expect(await request(scene, 'upload', {})).toMatchObject({ ok: false, error: { code: 'INVALID_INPUT' } });
  });

  it('ends a cancelled run as CANCELLED, whatever status it reports', async () => {
    const scene = await handlerScene();
    await started(scene);
    const { cancelRun } = await import('../../lambda/runtime/control/run-control.ts');
    const { withTenant: contextsFor } = await import('../../lambda/checkpoints/derived-contexts.ts');
    const contexts = contextsFor(scene.contexts, 'acme');
    await cancelRun({ contexts, clock: scene.clock, random: () => 0, log: () => {} }, 'q-1', 'no more');
    const late = await request(scene, 'finish', { expectedVersion: 2, status: 'SUCCEEDED', result: 1 });
    expect(late).toMatchObject({
      ok: false,
      error: { code: 'STALE_VERSION', found: { version: 3, status: 'ENDING' } },
    });
    const ended = await request(scene, 'finish', { expectedVersion: 3, status: 'SUCCEEDED', result: 1 });
    expect(ended).toMatchObject({ ok: true, status: 'CANCELLED' });
    const [stored] = await scene.storage.records.read('acme/q-1', [HEAD_KEY]);
    expect(stored?.lists).not.toHaveProperty('due');
  });

  it('is invoked to undo a result when its run is cancelled while it waits, if the result is undoable', async () => {
    const scene = await handlerScene();
    const { cancelRun } = await import('../../lambda/runtime/control/run-control.ts');
    const { withTenant: contextsFor } = await import('../../lambda/checkpoints/derived-contexts.ts');
    const runtime = {
      contexts: contextsFor(scene.contexts, 'acme'),
      clock: scene.clock,
      random: () => 0,
      log: () => {},
    };
    for (const [run, undoable, status] of [
      ['plain', [], 'CANCELLED'],
      ['undone', ['seat'], 'ENDING'],
    ] as const) {
      await started(scene, { run });
      const toolResults = { seat: 1, other: 2 };
      await request(scene, 'waitForSignal', { run, expectedVersion: 2, signal: 'go', toolResults, undoable });
      await cancelRun(runtime, run, '');
      await scene.flow();
      expect(await request(scene, 'load', { run })).toMatchObject({ checkpoint: { status, toolResults } });
    }
    expect(last(scene)).toMatchObject({ run: 'undone', checkpoint: { version: 5, status: 'ENDING' } });
    const ended = await request(scene, 'finish', { run: 'undone', expectedVersion: 5, status: 'SUCCEEDED' });
    expect(ended).toMatchObject({ ok: true, status: 'CANCELLED' });
  });
});
