import { beforeAll, describe, expect, it } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { payload } from '../../lambda/checkpoints/payload.ts';
import { readLiveHead } from '../../lambda/checkpoints/read-head.ts';
import { decide } from '../../lambda/runtime/approvals/decide.ts';
import { viewApproval } from '../../lambda/runtime/approvals/view.ts';
import { rewindRun } from '../../lambda/runtime/control/rewind-and-fork.ts';
import { waitForResult } from '../../lambda/runtime/control/run-control.ts';
import { claim } from '../../lambda/runtime/invocation/claim.ts';
import { type HandlerScene, handlerScene } from './scene.ts';

let scene: HandlerScene;
let runs = 0;

beforeAll(async () => {
  scene = await handlerScene();
});

const freshRun = () => `run-${++runs}`;
const ask = (action: string, fields: object) => scene.checkpoint({ waitstate: 1, action, ...fields });
const store = () => createCheckpointStore(scene.storage, { clock: () => scene.clock.now() });
const runtime = () => ({ contexts: scene.contexts, clock: scene.clock, random: () => 0, log: () => {} });
const head = async (run: string) => (await readLiveHead(await scene.contexts.forRun(run))).meta;

/** A run at version 1 that runs. */
async function running(fields: object = {}): Promise<string> {
  const run = freshRun();
  const saved = await ask('save', { run, expectedVersion: 0, agent: 'quotes', state: { n: 1 }, ...fields });
  expect(saved).toEqual({ ok: true, version: 1, status: 'RUNNING' });
  return run;
}

const APPROVAL = { name: 'buy', title: 'Buy?', approvers: ['user:ann'] };

describe('the protocol for other languages', () => {
  it('saves and loads documents as they are, results of tools included', async () => {
    const state = {
      when: { $: ['date', 5] },
      seen: { $: ['set', ['a', 'b']] },
      big: { $: ['bigint', '12'] },
      own: { $: ['object', { $: 1 }] },
    };
    const run = await running({
      state,
      toolResults: { 'call 1': [1, null, { $: ['date', 7] }], $odd: 'x' },
      model: { id: 'm' },
    });
    const loaded = await ask('load', { run });
    expect(loaded).toMatchObject({
      ...{ ok: true, run, approvals: [], signals: [], waiting: [] },
      checkpoint: { version: 1, status: 'RUNNING', state, model: { id: 'm' } },
    });
    expect(loaded.checkpoint.toolResults).toEqual({ 'call 1': [1, null, { $: ['date', 7] }], $odd: 'x' });
    expect(await ask('save', { run, expectedVersion: 1, state: loaded.checkpoint.state })).toMatchObject({
      version: 2,
    });
    const live = await store().load(run);
    expect(live.state).toEqual({ when: new Date(5), seen: new Set(['a', 'b']), big: 12n, own: { $: 1 } });
  });

  it('loads by version and by name, and moves names', async () => {
    const run = await running({ name: 'first', step: 'one', labels: { by: 'test' } });
    await ask('save', { run, expectedVersion: 1, state: { n: 2 }, step: 'two', toolResults: { a: 1, b: 2 } });
    await ask('save', { run, expectedVersion: 2, forgetToolResults: ['a'] });
    expect((await ask('load', { run, name: 'first' })).checkpoint).toMatchObject({
      ...{ version: 1, step: 'one', name: 'first', labels: { by: 'test' } },
    });
    expect((await ask('load', { run, version: 2 })).checkpoint.toolResults).toEqual({ a: 1, b: 2 });
    expect((await ask('load', { run })).checkpoint).toMatchObject({
      version: 3,
      state: { n: 2 },
      toolResults: { b: 2 },
    });
    expect((await ask('save', { run, expectedVersion: 3, name: 'first' })).error.code).toBe('NAME_TAKEN');
    expect(await ask('save', { run, expectedVersion: 3, name: 'first', moveName: true })).toMatchObject({ version: 4 });
  });

  it('recognises the same request again, of every kind that writes', async () => {
    const run = await running();
    const save = { run, expectedVersion: 1, state: { n: 2 } };
    expect(await ask('save', save)).toEqual(await ask('save', save));
    expect((await ask('save', { ...save, state: { n: 3 } })).error).toMatchObject({ code: 'STALE_VERSION' });
    const request = { run, expectedVersion: 2, approval: APPROVAL };
    const asked = await ask('requestApproval', request);
    expect(await ask('requestApproval', request)).toEqual(asked);
    expect((await head(run)).work?.approvals).toEqual(['buy']);
    await decide(await scene.contexts.forRun(run), { approval: 'buy', by: 'user:ann', answer: 'approve' });
    // Also when the run has long gone on.
    expect(await ask('requestApproval', request)).toMatchObject({ ok: true, version: 3, approval: 'buy' });
    const signal = { run, signal: 'go', value: 1, id: 's-1' };
    expect([(await ask('signal', signal)).isNew, (await ask('signal', signal)).isNew]).toEqual([true, false]);
    const other = await running();
    const end = { run: other, expectedVersion: 1, status: 'SUCCEEDED', result: 1, writeId: 'mine' };
    expect(await ask('finish', end)).toEqual(await ask('finish', end));
    const start = { run: freshRun(), agent: 'quotes', input: 1 };
    expect([(await ask('start', start)).isNew, (await ask('start', start)).isNew]).toEqual([true, false]);
  });

  it('suspends with the state, the approval and the head in one transaction', async () => {
    const run = await running();
    const commits: number[] = [];
    const { records } = scene.storage;
    const context = await scene.contexts.forTenant();
    const counting: typeof records.commit = (writes) => {
      commits.push(writes.length);
      return records.commit(writes);
    };
    const watched = {
      ...scene.contexts,
      forTenant: async () => ({
        ...context,
        records: {
          ...records,
          commit: counting,
        },
      }),
    };
    const { createCheckpointHandler: createCheckpoint } = await import('../../lambda/handlers/checkpoint.ts');
    const telemetry = { log: () => {}, count: () => {}, traceInvocation: <T>(work: () => Promise<T>) => work() };
    const handler = createCheckpoint({ contexts: watched, telemetry: telemetry });
    const request = {
      run,
      expectedVersion: 1,
      state: { n: 2 },
      approval: { ...APPROVAL, approvers: ['user:a', 'user:b'] },
    };
    expect(await handler({ waitstate: 1, action: 'requestApproval', ...request })).toMatchObject({ ok: true });
    expect(commits).toEqual([4]);
  });

  it('finds a signal that came before the wait, and one that comes while it suspends', async () => {
    const run = await running();
    await ask('signal', { run, signal: 'go', value: 'early' });
    expect(await ask('waitForSignal', { run, expectedVersion: 1, signal: 'go' })).toEqual({
      ...{ ok: true, version: 2, status: 'RUNNING', suspended: false },
    });
    expect((await ask('load', { run })).signals).toEqual([{ name: 'go', value: 'early' }]);

    const context = await scene.contexts.forTenant();
    let came = false;
    const commit: typeof context.records.commit = async (writes) => {
      if (!came) {
        came = true;
        await ask('signal', { run, signal: 'go', value: 'late' });
      }
      return context.records.commit(writes);
    };
    const racing = {
      ...scene.contexts,
      forTenant: async () => ({ ...context, records: { ...context.records, commit } }),
    };
    const { createCheckpointHandler: createCheckpoint } = await import('../../lambda/handlers/checkpoint.ts');
    const telemetry = { log: () => {}, count: () => {}, traceInvocation: <T>(work: () => Promise<T>) => work() };
    const handler = createCheckpoint({ contexts: racing, telemetry: telemetry });
    expect(
      await handler({ waitstate: 1, action: 'waitForSignal', run, expectedVersion: 2, signal: 'go', state: 'x' }),
    ).toMatchObject({ ok: true, version: 3, suspended: false });
    const loaded = await ask('load', { run });
    expect(loaded.signals.map(({ value }) => value).sort()).toEqual(['early', 'late']);
    expect(loaded.checkpoint.state).toBe('x');
  });

  it('asks under a new id when a name was asked before', async () => {
    const run = await running();
    await ask('requestApproval', { run, expectedVersion: 1, approval: APPROVAL });
    const at = await scene.contexts.forRun(run);
    await decide(at, { approval: 'buy', by: 'user:ann', answer: 'reject', comment: 'no' });
    // Nobody runs it here: what the claim does for a function is done by hand.
    await claim(at, { name: 'quotes', run: () => undefined }, { by: 'me', until: scene.clock.now() + 1000 });
    const again = await ask('requestApproval', { run, expectedVersion: 3, approval: APPROVAL });
    expect(again).toMatchObject({ ok: true, approval: 'buy#2', suspended: true });
    expect(await ask('load', { run })).toMatchObject({
      ...{ approvals: [{ approval: 'buy', approved: false, comment: 'no' }], waiting: ['buy#2'] },
    });
  });

  it('asks under a new id, as agents in TypeScript do, when the run was rewound', async () => {
    const run = await running();
    await ask('requestApproval', { run, expectedVersion: 1, approval: APPROVAL });
    await rewindRun(runtime(), run, 1);
    const at = await scene.contexts.forRun(run);
    await claim(at, { name: 'quotes', run: () => undefined }, { by: 'me', until: scene.clock.now() + 1000 });
    const { version } = await head(run);
    const again = await ask('requestApproval', { run, expectedVersion: version, approval: APPROVAL });
    expect(again).toMatchObject({ ok: true, approval: 'buy~r1', suspended: true });
    expect(await viewApproval(at, 'buy')).toMatchObject({ status: 'WITHDRAWN' });
    expect(await viewApproval(at, 'buy~r1')).toMatchObject({ status: 'PENDING', ask: 1 });
  });

  it('ends a run with its result or its error', async () => {
    const run = await running();
    expect(
      await ask('finish', { run, expectedVersion: 1, status: 'SUCCEEDED', result: { sum: 5 }, state: { n: 9 } }),
    ).toEqual({
      ...{ ok: true, version: 2, status: 'SUCCEEDED' },
    });
    expect(await waitForResult(runtime(), run)).toEqual({ sum: 5 });
    const other = await running();
    const error = { name: 'KeyError', message: 'no such flight' };
    await ask('finish', { run: other, expectedVersion: 1, status: 'FAILED', error });
    await expect(waitForResult(runtime(), other)).rejects.toThrow(/is FAILED: no such flight/);
    expect((await ask('save', { run: other, expectedVersion: 2, status: 'READY' })).error.code).toBe(
      'TRANSITION_REFUSED',
    );
    expect((await ask('signal', { run: other, signal: 'go' })).error.code).toBe('RUN_ENDED');
  });

  it('withdraws what is still asked when the run ends', async () => {
    const run = await running();
    await ask('requestApproval', { run, expectedVersion: 1, approval: APPROVAL });
    await ask('signal', { run, signal: 'other' });
    const at = await scene.contexts.forRun(run);
    await claim(at, { name: 'quotes', run: () => undefined }, { by: 'me', until: scene.clock.now() + 1000 });
    expect(await ask('finish', { run, expectedVersion: 3, status: 'SUCCEEDED' })).toMatchObject({ ok: true });
    expect((await viewApproval(at, 'buy')).status).toBe('WITHDRAWN');
    expect((await head(run)).work).not.toHaveProperty('approvals');
  });

  it('lets only a run that runs be given up', async () => {
    const run = freshRun();
    await ask('start', { run, agent: 'quotes' });
    for (const [action, fields] of [
      ['requestApproval', { approval: APPROVAL }],
      ['waitForSignal', { signal: 'go' }],
      ['finish', { status: 'SUCCEEDED' }],
      ['save', { status: 'READY' }],
    ] as const) {
      const answer = await ask(action, { run, expectedVersion: 1, ...fields });
      expect(answer).toMatchObject({ ok: false, error: { code: 'TRANSITION_REFUSED' } });
    }
    expect(await head(run)).toMatchObject({ status: 'READY', version: 1 });
    const noAgent = await running({ agent: undefined });
    expect(
      (await ask('requestApproval', { run: noAgent, expectedVersion: 1, approval: APPROVAL })).error.message,
    ).toMatch(/Pass `agent`/);
  });

  it('fails a run that only ever yields', async () => {
    const run = freshRun();
    await ask('start', { run, agent: 'quotes' });
    const at = await scene.contexts.forRun(run);
    for (let tried = 0; tried < 5; tried++) {
      const claimed = await claim(
        at,
        { name: 'quotes', run: () => undefined },
        { by: `${tried}`, until: scene.clock.now() + 1000 },
      );
      if (typeof claimed === 'string') throw new Error(claimed);
      await ask('save', { run, expectedVersion: claimed.loaded.record.version, status: 'READY' });
    }
    expect(await claim(at, { name: 'quotes', run: () => undefined }, { by: 'last', until: 1 })).toBe('ended');
    expect((await head(run)).status).toBe('FAILED');
  });

  it('takes a state by upload, and gives a large one and payloads by links', async () => {
    const run = await running();
    const { upload, url } = await ask('upload', { run });
    // S3 refuses what does not have the checksum of a signed link, so there must be none.
    expect(url).not.toMatch(/checksum/i);
    const state = { pages: 'y'.repeat(7_000_000) };
    expect((await fetch(url, { method: 'PUT', body: JSON.stringify(state) })).status).toBe(200);
    expect(await ask('save', { run, expectedVersion: 1, stateFrom: { upload } })).toMatchObject({
      ok: true,
      version: 2,
    });
    const { contentUrl, checkpoint } = await ask('load', { run });
    expect(checkpoint).toEqual({ version: 2, status: 'RUNNING' });
    expect(await (await fetch(contentUrl)).json()).toMatchObject({ checkpoint: { version: 2, state } });

    const image = freshRun();
    await store().save({ run: image, state: { shot: payload('pixels', { type: 'image/png' }) } });
    const loaded = await ask('load', { run: image });
    const [, id] = loaded.checkpoint.state.shot.$;
    const link = await ask('download', { run: image, payload: id });
    expect(link).toMatchObject({ ok: true, size: 6, type: 'image/png' });
    expect(await (await fetch(link.url)).text()).toBe('pixels');
    // What was loaded can be saved again; what another run has, or nobody, cannot.
    const again = { shot: loaded.checkpoint.state.shot, more: 1 };
    expect(await ask('save', { run: image, expectedVersion: 1, state: again })).toMatchObject({ ok: true });
    expect((await ask('save', { run, expectedVersion: 2, state: again })).error.message).toMatch(/does not have/);
    expect((await ask('download', { run, payload: id })).error.code).toBe('INVALID_INPUT');
  });

  it('refuses an upload that has not arrived, or that is no JSON', async () => {
    const run = await running();
    const { upload, url } = await ask('upload', { run });
    const save = { run, expectedVersion: 1, stateFrom: { upload } };
    expect((await ask('save', save)).error.message).toMatch(/has arrived/);
    await fetch(url, { method: 'PUT', body: 'nonsense' });
    expect((await ask('save', save)).error.message).toMatch(/must be JSON/);
    const other = await running();
    expect((await ask('save', { ...save, run: other })).error.message).toMatch(/has arrived/);
    expect((await ask('save', { ...save, stateFrom: { upload: '../x' } })).error.code).toBe('INVALID_INPUT');
  });

  it('keeps tenants apart', async () => {
    const run = await running({ tenant: 'acme' });
    expect(await ask('load', { run })).toMatchObject({ ok: false, error: { code: 'RUN_NOT_FOUND' } });
    expect(await ask('load', { run, tenant: 'acme' })).toMatchObject({ ok: true });
    expect((await ask('load', { run, tenant: '' })).error.code).toBe('INVALID_INPUT');
  });

  const deep = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['text', 'save'],
    ['a list', [1]],
    ['another protocol', { waitstate: 2, action: 'load', run: 'x' }],
    ['no action', { waitstate: 1, run: 'x' }],
    ['an action that objects have anyway', { waitstate: 1, action: 'constructor', run: 'x' }],
    ['an action that is a list', { waitstate: 1, action: ['load'], run: 'x' }],
    ['a tenant that is none', { waitstate: 1, action: 'load', run: 'x', tenant: { a: 1 } }],
    ['a run that is none', { waitstate: 1, action: 'load', run: 7 }],
    ['half of a character', { waitstate: 1, action: 'load', run: '\ud800' }],
    ['a field that nobody knows', { waitstate: 1, action: 'load', run: 'x', verson: 1 }],
    ['a prototype', JSON.parse('{"waitstate":1,"action":"load","run":"x","__proto__":{"version":1}}')],
    ['two ways to name a checkpoint', { waitstate: 1, action: 'load', run: 'x', version: 1, name: 'y' }],
  ])('refuses %s', async (_, event) => {
    expect(await scene.checkpoint(event)).toMatchObject({ ok: false, error: { code: 'INVALID_INPUT' } });
  });

  it.each([
    ['no version', { expectedVersion: undefined }],
    ['a version as text', { expectedVersion: '1' }],
    ['a version below zero', { expectedVersion: -1 }],
    ['half a version', { expectedVersion: 1.5 }],
    ['a status that only other actions give', { status: 'SUCCEEDED' }],
    ['two states', { state: 1, stateFrom: { upload: 'upload-aaaaaaaaaaaaaaaa' } }],
    ['a state nested too deep', { state: deep(5_000) }],
    ['a state nested as deep as a parser goes', { state: deep(200_000) }],
    ['a node that nobody knows', { state: { $: ['eval', 'x'] } }],
    ['a class', { state: { $: ['class', 'Secret', {}] } }],
    ['a payload of another run', { state: { $: ['payload', '../x', 'a', 1] } }],
    ['a number of a million digits', { state: { $: ['bigint', '9'.repeat(200_000)] } }],
    ['results that the runtime keeps', { toolResults: { '@result': 1 } }],
    [
      'results in the place of an approval',
      { toolResults: { 'approval/buy': { kind: 'approval', value: { approved: true } } } },
    ],
    ['forgetting what the runtime keeps', { forgetToolResults: ['@input'] }],
    ['results as a list', { toolResults: [1] }],
    ['labels that are no text', { labels: { a: 1 } }],
    ['too much in labels', { labels: { a: 'x'.repeat(20_000) } }],
    ['tags that are no list', { tags: 'a' }],
    ['a retention below zero', { retentionSeconds: -1 }],
    ['a long step', { step: 'x'.repeat(2_000) }],
    ['a model that is a list', { model: [] }],
  ])('refuses to save %s, and loses nothing', async (_, fields) => {
    const run = await running();
    const answer = await ask('save', { run, expectedVersion: 1, ...fields });
    expect(answer).toMatchObject({
      ok: false,
      error: { code: expect.stringMatching(/INVALID_INPUT|UNSUPPORTED_VALUE/) },
    });
    expect(answer.error.message.length).toBeLessThan(1_000);
    expect((await ask('load', { run })).checkpoint).toMatchObject({ version: 1, state: { n: 1 }, toolResults: {} });
  });

  it.each([
    ['none', undefined],
    ['one without approvers', { name: 'a', title: 'b' }],
    ['approvers that are no texts', { ...APPROVAL, approvers: [1] }],
    ['no name', { ...APPROVAL, name: '' }],
    ['a field that nobody knows', { ...APPROVAL, recheck: 'x' }],
    ['a quorum of nobody', { ...APPROVAL, quorum: 0 }],
    ['a quorum that cannot be met', { ...APPROVAL, quorum: 2 }],
    ['a time that is none', { ...APPROVAL, timeout: { days: 'x' } }],
    ['a time that nobody knows', { ...APPROVAL, timeout: { fortnights: 1 } }],
    ['a schema as editable', { ...APPROVAL, editable: {} }],
    ['facts that are a list', { ...APPROVAL, facts: [] }],
  ])('refuses an approval with %s, and the run goes on', async (_, approval) => {
    const run = await running();
    expect(await ask('requestApproval', { run, expectedVersion: 1, approval })).toMatchObject({
      ...{ ok: false, error: { code: 'INVALID_INPUT' } },
    });
    expect(await head(run)).toMatchObject({ status: 'RUNNING', version: 1 });
  });

  it.each([
    ['no status', {}],
    ['a status that is no end', { status: 'READY' }],
    ['a failure without an error', { status: 'FAILED' }],
    ['an error that is text', { status: 'FAILED', error: 'x' }],
    ['a success with an error', { status: 'SUCCEEDED', error: { message: 'x' } }],
    ['a failure with a result', { status: 'FAILED', error: { message: 'x' }, result: 1 }],
  ])('refuses to finish with %s', async (_, fields) => {
    const run = await running();
    expect(await ask('finish', { run, expectedVersion: 1, ...fields })).toMatchObject({
      ...{ ok: false, error: { code: 'INVALID_INPUT' } },
    });
    expect((await head(run)).status).toBe('RUNNING');
  });
});
