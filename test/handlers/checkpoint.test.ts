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
const act = (action: string, fields: object) => scene.checkpoint({ waitstate: 1, action, ...fields });
const store = () => createCheckpointStore(scene.storage, { clock: () => scene.clock.now() });
const runtime = () => ({ contexts: scene.contexts, clock: scene.clock, random: () => 0, log: () => {} });
const head = async (run: string) => (await readLiveHead(await scene.contexts.forRun(run))).meta;

/** Creates a RUNNING run at version 1. */
async function running(fields: object = {}): Promise<string> {
  const run = freshRun();
  const saved = await act('save', { run, expectedVersion: 0, agent: 'quotes', state: { n: 1 }, ...fields });
  expect(saved).toEqual({ ok: true, version: 1, status: 'RUNNING' });
  return run;
}

const APPROVAL = { name: 'buy', title: 'Buy?', approvers: ['user:ann'] };

describe('the protocol for other languages', () => {
  it('saves and loads documents and tool results unchanged', async () => {
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
    const loaded = await act('load', { run });
    expect(loaded).toMatchObject({
      ok: true,
      run,
      approvals: [],
      signals: [],
      waiting: [],
      checkpoint: { version: 1, status: 'RUNNING', state, model: { id: 'm' } },
    });
    expect(loaded.checkpoint.toolResults).toEqual({ 'call 1': [1, null, { $: ['date', 7] }], $odd: 'x' });
    expect(await act('save', { run, expectedVersion: 1, state: loaded.checkpoint.state })).toMatchObject({
      version: 2,
    });
    const live = await store().load(run);
    expect(live.state).toEqual({ when: new Date(5), seen: new Set(['a', 'b']), big: 12n, own: { $: 1 } });
  });

  it('starts and saves runs with a requester, whom an approval can exclude', async () => {
    const started = freshRun();
    await act('start', { run: started, agent: 'quotes', requestedBy: 'user:ann' });
    expect(await head(started)).toMatchObject({ requestedBy: 'user:ann' });
    const run = await running({ requestedBy: 'user:ann' });
    expect(await act('load', { run })).toMatchObject({ requestedBy: 'user:ann' });
    const ask = (of: string) =>
      act('requestApproval', {
        run: of,
        expectedVersion: 1,
        approval: { ...APPROVAL, approvers: ['user:ann', 'user:bob'], excludeRequester: true },
      });
    expect(await ask(run)).toMatchObject({ ok: true, suspended: true });
    const vote = { approval: 'buy', answer: 'approve' } as const;
    const at = await scene.contexts.forRun(run);
    await expect(decide(at, { ...vote, by: 'user:ann' })).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
    await decide(at, { ...vote, by: 'user:bob' });
    expect(await ask(await running())).toMatchObject({ ok: false, error: { code: 'REQUESTER_UNKNOWN' } });
    expect(await act('start', { agent: 'quotes', requestedBy: 'ann' })).toMatchObject({
      ok: false,
      error: { code: 'INVALID_INPUT' },
    });
  });

  it('asks a question with choices, a text or a JSON Schema, and gives the answer to the agent', async () => {
    const answered = async (how: object, value: unknown) => {
      const run = await running();
      const question = { ...APPROVAL, name: 'seat', ...how };
      expect(await act('requestApproval', { run, expectedVersion: 1, approval: question })).toMatchObject({ ok: true });
      const at = await scene.contexts.forRun(run);
      await expect(decide(at, { approval: 'seat', by: 'user:ann', value: 7 })).rejects.toMatchObject({
        code: 'SCHEMA_REFUSED',
      });
      await decide(at, { approval: 'seat', by: 'user:ann', value });
      // No function runs here, so the test claims the run itself.
      await claim(at, { name: 'quotes', run: () => undefined }, { by: 'me', until: scene.clock.now() + 1000 });
      return (await act('load', { run })).approvals;
    };
    const choices = ['window', { value: 'a', label: 'Aisle' }];
    expect(await answered({ choices }, 'a')).toMatchObject([{ name: 'seat', answered: true, answer: 'a' }]);
    expect(await answered({ choices, multiple: true }, ['a', 'window'])).toMatchObject([{ answer: ['window', 'a'] }]);
    expect(await answered({ text: { maxLength: 5 } }, '12A')).toMatchObject([{ answer: '12A' }]);
    const answerSchema = { type: 'object', properties: { row: { type: 'integer' } }, required: ['row'] };
    expect(await answered({ answerSchema }, { row: 3 })).toMatchObject([{ answer: { row: 3 } }]);
  });

  it('checks edits against a JSON Schema, and refuses a request that is unclear', async () => {
    const run = await running();
    const editsSchema = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] };
    const request = (more: object) =>
      act('requestApproval', { run, expectedVersion: 1, approval: { ...APPROVAL, ...more } });
    for (const [more, expected] of [
      [{ editsSchema }, '`approval.editsSchema` must be given with `"editable": true`'],
      [{ choices: ['a', 'b'], text: true }, 'exactly one of `choices`, `text`'],
      [{ multiple: true }, 'exactly one of `choices`, `text`'],
      [{ choices: ['a', 'b'], editable: true }, '`editable` of a question'],
      [{ choices: 'a' }, 'a list of choices'],
    ] as const)
      expect((await request(more)).error).toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining(expected),
      });
    expect(await request({ editable: true, editsSchema })).toMatchObject({ ok: true });
    const at = await scene.contexts.forRun(run);
    const vote = { approval: 'buy', by: 'user:ann', answer: 'approve' } as const;
    await expect(decide(at, { ...vote, edits: { amount: 'much' } })).rejects.toMatchObject({ code: 'SCHEMA_REFUSED' });
    await decide(at, { ...vote, edits: { amount: 7 } });
    await claim(at, { name: 'quotes', run: () => undefined }, { by: 'me', until: scene.clock.now() + 1000 });
    expect((await act('load', { run })).approvals).toMatchObject([{ approved: true, edits: { amount: 7 } }]);
  });

  it('starts a run with a retention, and changes the retention with a save', async () => {
    const run = freshRun();
    await act('start', { run, agent: 'a', retention: { days: 90 } });
    expect(await store().describe(run)).toMatchObject({ retention: { days: 90 } });
    const other = await running();
    await act('save', { run: other, expectedVersion: 1, retention: { hours: 36 } });
    expect(await store().describe(other)).toMatchObject({ retention: { days: 1, hours: 12 } });
  });

  it('loads by version and by name, and moves names', async () => {
    const run = await running({ name: 'first', step: 'one', labels: { by: 'test' } });
    await act('save', { run, expectedVersion: 1, state: { n: 2 }, step: 'two', toolResults: { a: 1, b: 2 } });
    await act('save', { run, expectedVersion: 2, forgetToolResults: ['a'] });
    expect((await act('load', { run, name: 'first' })).checkpoint).toMatchObject({
      version: 1,
      step: 'one',
      name: 'first',
      labels: { by: 'test' },
    });
    expect((await act('load', { run, version: 2 })).checkpoint.toolResults).toEqual({ a: 1, b: 2 });
    expect((await act('load', { run })).checkpoint).toMatchObject({
      version: 3,
      state: { n: 2 },
      toolResults: { b: 2 },
    });
    expect((await act('save', { run, expectedVersion: 3, name: 'first' })).error.code).toBe('NAME_TAKEN');
    expect(await act('save', { run, expectedVersion: 3, name: 'first', moveName: true })).toMatchObject({ version: 4 });
  });

  it('recognizes repeated requests of every action that writes', async () => {
    const run = await running();
    const save = { run, expectedVersion: 1, state: { n: 2 } };
    expect(await act('save', save)).toEqual(await act('save', save));
    expect((await act('save', { ...save, state: { n: 3 } })).error).toMatchObject({ code: 'STALE_VERSION' });
    const request = { run, expectedVersion: 2, approval: APPROVAL };
    const requested = await act('requestApproval', request);
    expect(await act('requestApproval', request)).toEqual(requested);
    expect((await head(run)).work?.approvals).toEqual(['buy']);
    await decide(await scene.contexts.forRun(run), { approval: 'buy', by: 'user:ann', answer: 'approve' });
    // Also after the run has resumed.
    expect(await act('requestApproval', request)).toMatchObject({ ok: true, version: 3, approval: 'buy' });
    const signal = { run, signal: 'go', value: 1, id: 's-1' };
    expect([(await act('signal', signal)).isNew, (await act('signal', signal)).isNew]).toEqual([true, false]);
    const other = await running();
    const end = { run: other, expectedVersion: 1, status: 'SUCCEEDED', result: 1, writeId: 'mine' };
    expect(await act('finish', end)).toEqual(await act('finish', end));
    const start = { run: freshRun(), agent: 'quotes', input: 1 };
    expect([(await act('start', start)).isNew, (await act('start', start)).isNew]).toEqual([true, false]);
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
    const { createCheckpointHandler } = await import('../../lambda/handlers/factories/create-checkpoint-handler.ts');
    const telemetry = { log: () => {}, count: () => {}, runInvocation: <T>(work: () => Promise<T>) => work() };
    const handler = createCheckpointHandler({ contexts: watched, telemetry });
    const request = {
      run,
      expectedVersion: 1,
      state: { n: 2 },
      approval: { ...APPROVAL, approvers: ['user:a', 'user:b'] },
    };
    expect(await handler({ waitstate: 1, action: 'requestApproval', ...request })).toMatchObject({ ok: true });
    expect(commits).toEqual([4]);
  });

  it('receives a signal that arrived before the wait, and one that arrives while it suspends', async () => {
    const run = await running();
    await act('signal', { run, signal: 'go', value: 'early' });
    expect(await act('waitForSignal', { run, expectedVersion: 1, signal: 'go' })).toEqual({
      ok: true,
      version: 2,
      status: 'RUNNING',
      suspended: false,
    });
    expect((await act('load', { run })).signals).toEqual([{ name: 'go', value: 'early' }]);

    const context = await scene.contexts.forTenant();
    let isSignaled = false;
    const commit: typeof context.records.commit = async (writes) => {
      if (!isSignaled) {
        isSignaled = true;
        await act('signal', { run, signal: 'go', value: 'late' });
      }
      return context.records.commit(writes);
    };
    const racing = {
      ...scene.contexts,
      forTenant: async () => ({ ...context, records: { ...context.records, commit } }),
    };
    const { createCheckpointHandler } = await import('../../lambda/handlers/factories/create-checkpoint-handler.ts');
    const telemetry = { log: () => {}, count: () => {}, runInvocation: <T>(work: () => Promise<T>) => work() };
    const handler = createCheckpointHandler({ contexts: racing, telemetry });
    expect(
      await handler({ waitstate: 1, action: 'waitForSignal', run, expectedVersion: 2, signal: 'go', state: 'x' }),
    ).toMatchObject({ ok: true, version: 3, suspended: false });
    const loaded = await act('load', { run });
    expect(loaded.signals.map(({ value }) => value).sort()).toEqual(['early', 'late']);
    expect(loaded.checkpoint.state).toBe('x');
  });

  it('requests an approval under a new id if the name was used before', async () => {
    const run = await running();
    await act('requestApproval', { run, expectedVersion: 1, approval: APPROVAL });
    const at = await scene.contexts.forRun(run);
    await decide(at, { approval: 'buy', by: 'user:ann', answer: 'reject', comment: 'no' });
    // No function runs here, so the test claims the run itself.
    await claim(at, { name: 'quotes', run: () => undefined }, { by: 'me', until: scene.clock.now() + 1000 });
    const again = await act('requestApproval', { run, expectedVersion: 3, approval: APPROVAL });
    expect(again).toMatchObject({ ok: true, approval: 'buy#2', suspended: true });
    expect(await act('load', { run })).toMatchObject({
      approvals: [{ approval: 'buy', approved: false, comment: 'no' }],
      waiting: ['buy#2'],
    });
  });

  it('requests an approval under a new id after a rewind, as agents in TypeScript do', async () => {
    const run = await running();
    await act('requestApproval', { run, expectedVersion: 1, approval: APPROVAL });
    await rewindRun(runtime(), run, 1);
    const at = await scene.contexts.forRun(run);
    await claim(at, { name: 'quotes', run: () => undefined }, { by: 'me', until: scene.clock.now() + 1000 });
    const { version } = await head(run);
    const again = await act('requestApproval', { run, expectedVersion: version, approval: APPROVAL });
    expect(again).toMatchObject({ ok: true, approval: 'buy~r1', suspended: true });
    expect(await viewApproval(at, 'buy')).toMatchObject({ status: 'WITHDRAWN' });
    expect(await viewApproval(at, 'buy~r1')).toMatchObject({ status: 'PENDING', requestNumber: 1 });
  });

  it('ends a run with a result or an error', async () => {
    const run = await running();
    expect(
      await act('finish', { run, expectedVersion: 1, status: 'SUCCEEDED', result: { sum: 5 }, state: { n: 9 } }),
    ).toEqual({
      ok: true,
      version: 2,
      status: 'SUCCEEDED',
    });
    expect(await waitForResult(runtime(), run)).toEqual({ sum: 5 });
    const other = await running();
    const error = { name: 'KeyError', message: 'flight not found' };
    await act('finish', { run: other, expectedVersion: 1, status: 'FAILED', error });
    await expect(waitForResult(runtime(), other)).rejects.toThrow(/is FAILED: flight not found/);
    expect((await act('save', { run: other, expectedVersion: 2, status: 'READY' })).error.code).toBe(
      'TRANSITION_REFUSED',
    );
    expect((await act('signal', { run: other, signal: 'go' })).error.code).toBe('RUN_ENDED');
  });

  it('withdraws pending approvals when the run ends', async () => {
    const run = await running();
    await act('requestApproval', { run, expectedVersion: 1, approval: APPROVAL });
    await act('signal', { run, signal: 'other' });
    const at = await scene.contexts.forRun(run);
    await claim(at, { name: 'quotes', run: () => undefined }, { by: 'me', until: scene.clock.now() + 1000 });
    expect(await act('finish', { run, expectedVersion: 3, status: 'SUCCEEDED' })).toMatchObject({ ok: true });
    expect((await viewApproval(at, 'buy')).status).toBe('WITHDRAWN');
    expect((await head(run)).work).not.toHaveProperty('approvals');
  });

  it('lets only a RUNNING run suspend, yield or finish', async () => {
    const run = freshRun();
    await act('start', { run, agent: 'quotes' });
    for (const [action, fields] of [
      ['requestApproval', { approval: APPROVAL }],
      ['waitForSignal', { signal: 'go' }],
      ['finish', { status: 'SUCCEEDED' }],
      ['save', { status: 'READY' }],
    ] as const) {
      const response = await act(action, { run, expectedVersion: 1, ...fields });
      expect(response).toMatchObject({ ok: false, error: { code: 'TRANSITION_REFUSED' } });
    }
    expect(await head(run)).toMatchObject({ status: 'READY', version: 1 });
    const noAgent = await running({ agent: undefined });
    expect(
      (await act('requestApproval', { run: noAgent, expectedVersion: 1, approval: APPROVAL })).error.message,
    ).toMatch(/Pass `agent`/);
  });

  it('fails a run that yields repeatedly without progress', async () => {
    const run = freshRun();
    await act('start', { run, agent: 'quotes' });
    const at = await scene.contexts.forRun(run);
    for (let tried = 0; tried < 5; tried++) {
      const claimed = await claim(
        at,
        { name: 'quotes', run: () => undefined },
        { by: `${tried}`, until: scene.clock.now() + 1000 },
      );
      if (typeof claimed === 'string') throw new Error(claimed);
      await act('save', { run, expectedVersion: claimed.loaded.record.version, status: 'READY' });
    }
    expect(await claim(at, { name: 'quotes', run: () => undefined }, { by: 'last', until: 1 })).toBe('ended');
    expect((await head(run)).status).toBe('FAILED');
  });

  it('accepts a state by upload, and returns large states and payloads by URL', async () => {
    const run = await running();
    const { upload, url } = await act('upload', { run });
    // S3 refuses uploads without the checksum of a signed URL, so the URL must not have one.
    expect(url).not.toMatch(/checksum/i);
    const state = { pages: 'y'.repeat(7_000_000) };
    expect((await fetch(url, { method: 'PUT', body: JSON.stringify(state) })).status).toBe(200);
    expect(await act('save', { run, expectedVersion: 1, stateFrom: { upload } })).toMatchObject({
      ok: true,
      version: 2,
    });
    const { contentUrl, checkpoint } = await act('load', { run });
    expect(checkpoint).toEqual({ version: 2, status: 'RUNNING' });
    expect(await (await fetch(contentUrl)).json()).toMatchObject({ checkpoint: { version: 2, state } });

    const image = freshRun();
    await store().save({ run: image, state: { shot: payload('pixels', { type: 'image/png' }) } });
    const loaded = await act('load', { run: image });
    const [, id] = loaded.checkpoint.state.shot.$;
    const link = await act('download', { run: image, payload: id });
    expect(link).toMatchObject({ ok: true, size: 6, type: 'image/png' });
    expect(await (await fetch(link.url)).text()).toBe('pixels');
    // A payload that was loaded can be saved again in its run, but not in another one.
    const again = { shot: loaded.checkpoint.state.shot, more: 1 };
    expect(await act('save', { run: image, expectedVersion: 1, state: again })).toMatchObject({ ok: true });
    expect((await act('save', { run, expectedVersion: 2, state: again })).error.message).toMatch(/does not have/);
    expect((await act('download', { run, payload: id })).error.code).toBe('INVALID_INPUT');
  });

  it('refuses an upload that has not arrived or is not JSON', async () => {
    const run = await running();
    const { upload, url } = await act('upload', { run });
    const save = { run, expectedVersion: 1, stateFrom: { upload } };
    expect((await act('save', save)).error.message).toMatch(/a finished upload/);
    await fetch(url, { method: 'PUT', body: 'nonsense' });
    expect((await act('save', save)).error.message).toMatch(/must be JSON/);
    const other = await running();
    expect((await act('save', { ...save, run: other })).error.message).toMatch(/a finished upload/);
    expect((await act('save', { ...save, stateFrom: { upload: '../x' } })).error.code).toBe('INVALID_INPUT');
  });

  it('keeps tenants apart', async () => {
    const run = await running({ tenant: 'acme' });
    expect(await act('load', { run })).toMatchObject({ ok: false, error: { code: 'RUN_NOT_FOUND' } });
    expect(await act('load', { run, tenant: 'acme' })).toMatchObject({ ok: true });
    expect((await act('load', { run, tenant: '' })).error.code).toBe('INVALID_INPUT');
  });

  const deep = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['text', 'save'],
    ['a list', [1]],
    ['a request of another protocol version', { waitstate: 2, action: 'load', run: 'x' }],
    ['a request without an action', { waitstate: 1, run: 'x' }],
    ['a request whose action is an inherited property', { waitstate: 1, action: 'constructor', run: 'x' }],
    ['a request whose action is a list', { waitstate: 1, action: ['load'], run: 'x' }],
    ['a request with an invalid tenant', { waitstate: 1, action: 'load', run: 'x', tenant: { a: 1 } }],
    ['a request with an invalid run id', { waitstate: 1, action: 'load', run: 7 }],
    ['a run id with an unpaired surrogate', { waitstate: 1, action: 'load', run: '\ud800' }],
    ['a request with an unknown field', { waitstate: 1, action: 'load', run: 'x', verson: 1 }],
    [
      'a request with a __proto__ field',
      JSON.parse('{"waitstate":1,"action":"load","run":"x","__proto__":{"version":1}}'),
    ],
    ['a request with both a version and a name', { waitstate: 1, action: 'load', run: 'x', version: 1, name: 'y' }],
  ])('refuses %s', async (_, event) => {
    expect(await scene.checkpoint(event)).toMatchObject({ ok: false, error: { code: 'INVALID_INPUT' } });
  });

  it.each([
    ['no version', { expectedVersion: undefined }],
    ['a version as text', { expectedVersion: '1' }],
    ['a version below zero', { expectedVersion: -1 }],
    ['a fractional version', { expectedVersion: 1.5 }],
    ['a status that only other actions set', { status: 'SUCCEEDED' }],
    ['two states', { state: 1, stateFrom: { upload: 'upload-aaaaaaaaaaaaaaaa' } }],
    ['a state nested too deep', { state: deep(5_000) }],
    ['a state nested as deep as JSON.parse allows', { state: deep(200_000) }],
    ['a node of an unknown kind', { state: { $: ['eval', 'x'] } }],
    ['an instance of a class', { state: { $: ['class', 'Secret', {}] } }],
    ['a payload of another run', { state: { $: ['payload', '../x', 'a', 1] } }],
    ['a number of a million digits', { state: { $: ['bigint', '9'.repeat(200_000)] } }],
    ['results under a name of the runtime', { toolResults: { '@result': 1 } }],
    [
      'results under the id of an approval',
      { toolResults: { 'approval/buy': { kind: 'approval', value: { approved: true } } } },
    ],
    ['a request to forget a result of the runtime', { forgetToolResults: ['@input'] }],
    ['results as a list', { toolResults: [1] }],
    ['labels that are not text', { labels: { a: 1 } }],
    ['labels that are too large', { labels: { a: 'x'.repeat(20_000) } }],
    ['tags that are not a list', { tags: 'a' }],
    ['a retention below zero', { retention: { seconds: -1 } }],
    ['a retention of zero', { retention: { days: 0 } }],
    ['a retention without a unit', { retention: 60 }],
    ['a step name that is too long', { step: 'x'.repeat(2_000) }],
    ['a model that is a list', { model: [] }],
  ])('refuses a save with %s, and leaves the run unchanged', async (_, fields) => {
    const run = await running();
    const response = await act('save', { run, expectedVersion: 1, ...fields });
    expect(response).toMatchObject({
      ok: false,
      error: { code: expect.stringMatching(/INVALID_INPUT|UNSUPPORTED_VALUE/) },
    });
    expect(response.error.message.length).toBeLessThan(1_000);
    expect((await act('load', { run })).checkpoint).toMatchObject({ version: 1, state: { n: 1 }, toolResults: {} });
  });

  it.each([
    ['no fields', undefined],
    ['no approvers', { name: 'a', title: 'b' }],
    ['approvers that are not text', { ...APPROVAL, approvers: [1] }],
    ['no name', { ...APPROVAL, name: '' }],
    ['an unknown field', { ...APPROVAL, recheck: 'x' }],
    ['a quorum of 0', { ...APPROVAL, quorum: 0 }],
    ['a quorum that cannot be met', { ...APPROVAL, quorum: 2 }],
    ['an invalid timeout', { ...APPROVAL, timeout: { days: 'x' } }],
    ['an unknown unit of time', { ...APPROVAL, timeout: { fortnights: 1 } }],
    ['a schema as editable', { ...APPROVAL, editable: {} }],
    ['facts that are a list', { ...APPROVAL, facts: [] }],
  ])('refuses an approval with %s, and the run keeps running', async (_, approval) => {
    const run = await running();
    expect(await act('requestApproval', { run, expectedVersion: 1, approval })).toMatchObject({
      ok: false,
      error: { code: 'INVALID_INPUT' },
    });
    expect(await head(run)).toMatchObject({ status: 'RUNNING', version: 1 });
  });

  it.each([
    ['no status', {}],
    ['a status that does not end a run', { status: 'READY' }],
    ['a failure without an error', { status: 'FAILED' }],
    ['an error that is text', { status: 'FAILED', error: 'x' }],
    ['a success and an error', { status: 'SUCCEEDED', error: { message: 'x' } }],
    ['a failure and a result', { status: 'FAILED', error: { message: 'x' }, result: 1 }],
  ])('refuses to finish with %s', async (_, fields) => {
    const run = await running();
    expect(await act('finish', { run, expectedVersion: 1, ...fields })).toMatchObject({
      ok: false,
      error: { code: 'INVALID_INPUT' },
    });
    expect((await head(run)).status).toBe('RUNNING');
  });
});
