import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { readLiveHead } from '../../lambda/checkpoints/read-head.ts';
import { pauseAgent, unpauseAgent } from '../../lambda/runtime/control/pause-agent.ts';
import { sweepDue } from '../../lambda/runtime/control/sweep.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { counted, describeOnEachStorage } from '../runtime/storages.ts';
import { type ApiScene, apiScene, caller } from './scene.ts';

/** A claimed run as a worker gets it. */
interface Claimed {
  readonly run: string;
  readonly lease: { readonly id: string; readonly until: string };
  readonly checkpoint: { readonly version: number; readonly status: string; readonly state: unknown };
  readonly approvals: readonly object[];
}

const NO_WAIT = { seconds: 0 };

/** The actions of a worker and of the people around it. */
const workerIn = (scene: ApiScene, worker = 'w') => ({
  async claim(fields: object = {}, headers: Readonly<Record<string, string>> = {}): Promise<Claimed | undefined> {
    const json = { agents: ['quotes'], worker, wait: NO_WAIT, ...fields };
    const { status, json: claimed } = await scene.callApi('/api/claims', { json, headers });
    expect([200, 204]).toContain(status);
    return status === 200 ? (claimed as unknown as Claimed) : undefined;
  },
  start: (id: string, agent = 'quotes') => scene.callApi('/api/runs', { json: { agent, id, input: { item: id } } }),
  async send(path: string, json: object, version?: number) {
    const headers = version === undefined ? {} : { 'if-match': `"${version}"` };
    const { status, json: body } = await scene.callApi(path, { json, headers });
    return { status, ...body } as { readonly status: number | string; readonly [field: string]: unknown };
  },
  renew: ({ run, lease }: Claimed, fields: object = {}) =>
    scene.callApi(`/api/runs/${run}/lease`, { json: { lease: lease.id, ...fields } }),
  release: ({ run, lease }: Claimed, fields: object = {}) =>
    scene.callApi(`/api/runs/${run}/release`, { json: { lease: lease.id, ...fields } }),
  sweep: () => sweepDue({ runtime: scene.runtime, hasWorkers: ({ agent }) => agent === 'quotes' }),
  pass: (seconds: number) => scene.clock.moveTo(scene.clock.now() + seconds * 1_000),
  head: async (run: string) => (await readLiveHead(await scene.runtime.contexts.forRun(run))).meta,
});

describeOnEachStorage('a worker in any language', (open) => {
  it('claims the oldest ready run, hydrated and with a lease, and ends it', async () => {
    const scene = apiScene(await open());
    const { claim, start, send, head } = workerIn(scene, 'laptop 7');
    await start('a');
    scene.clock.moveTo(scene.clock.now() + 10);
    await start('b');
    const first = await claim();
    expect(first).toMatchObject({
      waitstate: 1,
      tenant: 'default',
      run: 'a',
      agent: 'quotes',
      input: { item: 'a' },
      checkpoint: { version: 2, status: 'RUNNING', state: null },
      lease: { until: new Date(scene.clock.now() + 60_000).toISOString() },
    });
    expect((await head('a')).work?.lease?.by).toMatch(/^laptop 7 /);
    expect(await claim()).toMatchObject({ run: 'b' });
    expect(await claim()).toBeUndefined();
    expect(await send('/api/runs/a/checkpoints', { state: { at: 1 }, step: 'look' }, 2)).toMatchObject({ version: 3 });
    const approval = { name: 'buy', title: 'Buy?', approvers: ['user:ann'] };
    expect(await send('/api/runs/a/approvals', { approval }, 3)).toMatchObject({ suspended: true });
    expect((await head('a')).work).not.toHaveProperty('lease');
    expect(await claim()).toBeUndefined();
    await send('/api/runs/a/approvals/buy/decide', { answer: 'approve' });
    const resumed = await claim({ lease: { minutes: 15 } });
    expect(resumed).toMatchObject({
      run: 'a',
      checkpoint: { version: 5, state: { at: 1 } },
      approvals: [{ name: 'buy', approved: true }],
      lease: { until: new Date(scene.clock.now() + 900_000).toISOString() },
    });
    expect(await send('/api/runs/a/finish', { status: 'SUCCEEDED', result: 7 }, 5)).toMatchObject({
      status: 'SUCCEEDED',
    });
    expect(await claim()).toBeUndefined();
  });

  it('gets another run than every other worker that asks at the same time', async () => {
    const scene = apiScene(await open());
    const { claim, start } = workerIn(scene);
    const runs = Array.from({ length: 12 }, (_, i) => `run-${i}`);
    for (const run of runs) await start(run);
    const claimed = await Promise.all(Array.from({ length: 14 }, () => claim()));
    const found = claimed.flatMap((each) => each?.run ?? []);
    // A worker that loses each race may find nothing; the next request finds what is left.
    for (let next = await claim(); next; next = await claim()) found.push(next.run);
    expect(found.toSorted()).toEqual(runs.toSorted());
    expect(new Set(claimed.flatMap((each) => each?.lease.id ?? [])).size).toBe(
      claimed.filter((each) => each !== undefined).length,
    );
  });

  it('gets the run of a lost response again, as long as it has not written to it', async () => {
    const scene = apiScene(await open());
    const { claim, start, send, head } = workerIn(scene);
    await start('a');
    const headers = { 'idempotency-key': 'claim-1' };
    const lost = await claim({}, headers);
    const again = await claim({ repeats: true }, headers);
    expect(again).toEqual(lost);
    expect((await head('a')).work).toMatchObject({ claims: 1, claimedVersion: 2 });
    expect(await claim({ repeats: true }, { 'idempotency-key': 'claim-2' })).toBeUndefined();
    const json = { agents: ['quotes'], worker: 'w', wait: NO_WAIT, repeats: true };
    expect((await scene.callApi('/api/claims', { json, headers, as: caller({ tenant: 'acme' }) })).status).toBe(204);
    await send('/api/runs/a/checkpoints', { state: 1 }, 2);
    expect(await claim({ repeats: true }, headers)).toBeUndefined();
    await start('b');
    expect(await claim({ repeats: true }, { 'idempotency-key': 'claim-3' })).toMatchObject({ run: 'b' });
  });

  it('keeps its run while it renews its lease, and learns that the run was cancelled', async () => {
    const scene = apiScene(await open());
    const { claim, start, renew, sweep, pass, send } = workerIn(scene);
    await start('a');
    const claimed = (await claim()) as Claimed;
    for (let minute = 0; minute < 5; minute++) {
      pass(50);
      const renewed = await renew(claimed);
      expect(renewed.json).toEqual({
        run: 'a',
        status: 'RUNNING',
        lease: { id: claimed.lease.id, until: new Date(scene.clock.now() + 60_000).toISOString() },
      });
      await sweep();
      expect(await claim()).toBeUndefined();
    }
    expect((await renew(claimed, { for: { minutes: 10 } })).json.lease).toMatchObject({
      until: new Date(scene.clock.now() + 600_000).toISOString(),
    });
    expect((await scene.callApi('/api/runs/a/cancel', { json: { reason: 'no' } })).json.status).toBe('ENDING');
    expect((await renew(claimed)).json).toMatchObject({ status: 'ENDING' });
    const stale = await send('/api/runs/a/checkpoints', { state: 1 }, 2);
    expect(stale).toMatchObject({ code: 'STALE_VERSION', found: { version: 3, status: 'ENDING' } });
    expect(await send('/api/runs/a/finish', { status: 'FAILED', error: { message: 'stopped' } }, 3)).toMatchObject({
      status: 'CANCELLED',
    });
    expect((await renew(claimed)).json).toMatchObject({ code: 'LEASE_LOST' });
  });

  it('loses its run when its lease ends, and the next worker is not disturbed by it', async () => {
    const scene = apiScene(await open());
    const crashed = workerIn(scene, 'crashed');
    const next = workerIn(scene, 'next');
    await crashed.start('a');
    const lost = (await crashed.claim()) as Claimed;
    await crashed.send('/api/runs/a/checkpoints', { state: 'kept', step: 'one' }, 2);
    crashed.pass(59);
    await next.sweep();
    expect(await next.claim()).toBeUndefined();
    crashed.pass(2);
    expect(await next.sweep()).toMatchObject({ delivered: 1 });
    expect(await next.head('a')).toMatchObject({ status: 'READY' });
    const taken = (await next.claim()) as Claimed;
    expect(taken).toMatchObject({ run: 'a', checkpoint: { version: 4, state: 'kept' } });
    expect(await crashed.send('/api/runs/a/checkpoints', { state: 'late' }, 3)).toMatchObject({
      code: 'STALE_VERSION',
      found: { version: 4, status: 'RUNNING' },
    });
    for (const answer of [await crashed.renew(lost), await crashed.release(lost)])
      expect([answer.status, answer.json.code]).toEqual([409, 'LEASE_LOST']);
    expect((await next.renew(taken)).status).toBe(200);
    expect(await next.send('/api/runs/a/finish', { status: 'SUCCEEDED' }, 4)).toMatchObject({ status: 'SUCCEEDED' });
  });

  it('fails a run that crashes every worker', async () => {
    const { claim, start, sweep, pass, head } = workerIn(apiScene(await open()));
    await start('a');
    for (let crash = 0; crash < 5; crash++) {
      expect(await claim()).toMatchObject({ run: 'a' });
      pass(3_600);
      await sweep();
    }
    expect(await claim()).toBeUndefined();
    expect(await head('a')).toMatchObject({ status: 'FAILED' });
  });

  it('gives a run back, and it counts as an attempt only if something was executed', async () => {
    const { claim, start, release, head } = workerIn(apiScene(await open()));
    await start('a');
    for (let times = 0; times < 8; times++) {
      const claimed = (await claim()) as Claimed;
      const released = await release(claimed, { attempted: false });
      expect([released.status, released.json]).toEqual([200, { run: 'a', status: 'READY' }]);
      expect((await release(claimed)).json).toMatchObject({ code: 'LEASE_LOST' });
    }
    expect((await head('a')).work).toMatchObject({ claims: 0 });
    for (let times = 0; times < 5; times++) await release((await claim()) as Claimed);
    expect(await claim()).toBeUndefined();
    expect(await head('a')).toMatchObject({ status: 'FAILED' });
  });

  it('can give back a run that is ENDING, which the next worker finishes', async () => {
    const scene = apiScene(await open());
    const { claim, start, release, send, sweep, pass } = workerIn(scene);
    await start('a');
    const claimed = (await claim()) as Claimed;
    await scene.callApi('/api/runs/a/cancel', { json: {} });
    expect((await release(claimed)).json).toEqual({ run: 'a', status: 'ENDING' });
    expect(await claim()).toMatchObject({ run: 'a', checkpoint: { version: 4, status: 'ENDING' } });
    // The worker crashes.
    pass(61);
    await sweep();
    expect(await claim()).toMatchObject({ run: 'a', checkpoint: { version: 5, status: 'ENDING' } });
    expect(await send('/api/runs/a/finish', { status: 'SUCCEEDED' }, 5)).toMatchObject({ status: 'CANCELLED' });
  });

  it('gets only runs of its tenant and its agents', async () => {
    const scene = apiScene(await open());
    const { claim, start } = workerIn(scene);
    await start('a', 'other');
    const inAcme = caller({ tenant: 'acme' });
    await scene.callApi('/api/runs', { json: { agent: 'quotes', id: 'b' }, as: inAcme });
    expect(await claim()).toBeUndefined();
    const json = { agents: ['quotes'], wait: NO_WAIT };
    const claimed = (await scene.callApi('/api/claims', { json, as: inAcme })).json as unknown as Claimed;
    expect(claimed).toMatchObject({ tenant: 'acme', run: 'b' });
    for (const path of ['/api/runs/b/lease', '/api/runs/b/release'])
      expect((await scene.callApi(path, { json: { lease: claimed.lease.id } })).status).toBe(404);
    expect(await claim({ agents: ['quotes', 'other'] })).toMatchObject({ run: 'a', agent: 'other' });
  });

  it('gets no run of a paused agent', async () => {
    const scene = apiScene(await open());
    const { claim, start } = workerIn(scene);
    for (const run of ['a', 'b', 'c']) await start(run);
    const context = await scene.runtime.contexts.forTenant();
    await pauseAgent(context, 'quotes');
    expect(await claim()).toBeUndefined();
    await unpauseAgent(context, 'quotes');
    expect(await claim()).toMatchObject({ run: 'a' });
  });

  it('resumes when a timer or a signal is due, and not for a signal that it does not wait for', async () => {
    const scene = apiScene(await open());
    const { claim, start, send, sweep, pass } = workerIn(scene);
    await start('a');
    await claim();
    await send('/api/runs/a/waits', { signal: 'paid', timeout: { hours: 1 } }, 2);
    await scene.callApi('/api/runs/a/signals', { json: { name: 'other', value: 1 } });
    expect(await claim()).toBeUndefined();
    pass(3_601);
    await sweep();
    expect(await claim()).toMatchObject({ run: 'a', signals: [{ name: 'paid', timedOut: true }] });
  });
});

describe('a claim', () => {
  it('waits until a run is ready', async () => {
    const scene = apiScene();
    const { claim, start } = workerIn(scene);
    const waiting = claim({ wait: { seconds: 20 } });
    while (scene.clock.next === undefined) await pause(1);
    scene.clock.moveTo(scene.clock.now() + 5_000);
    await start('a');
    while (scene.clock.next === undefined) await pause(1);
    scene.clock.moveTo(scene.clock.now() + 1_000);
    expect(await waiting).toMatchObject({ run: 'a' });
  });

  it('responds that nothing is ready after its wait', async () => {
    const scene = apiScene();
    const began = scene.clock.now();
    let isOver = false;
    const waiting = workerIn(scene)
      .claim({ wait: { seconds: 20 } })
      .finally(() => {
        isOver = true;
      });
    while (!isOver) {
      if (scene.clock.next !== undefined) scene.clock.moveTo(scene.clock.next);
      await pause(1);
    }
    expect(await waiting).toBeUndefined();
    expect(scene.clock.now() - began).toBe(20_000);
  });

  it('gets no run for a client that is gone', async () => {
    const scene = apiScene();
    const { start, head } = workerIn(scene);
    const gone = new AbortController();
    const request = new Request('http://localhost/api/claims', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ agents: ['quotes'] }),
      signal: gone.signal,
    });
    const response = scene.app.request(request);
    while (scene.clock.next === undefined) await pause(1);
    gone.abort();
    expect((await response).status).toBe(204);
    await start('a');
    expect(await head('a')).toMatchObject({ status: 'READY', version: 1 });
  });

  it('gives a run back that it claimed while the client left', async () => {
    const gone = new AbortController();
    const storage = memoryStorage();
    const leaving = {
      ...storage,
      records: {
        ...storage.records,
        commit: async (writes: Parameters<typeof storage.records.commit>[0]) => {
          await storage.records.commit(writes);
          if (JSON.stringify(writes).includes('RUNNING')) gone.abort();
        },
      },
    };
    const scene = apiScene(leaving);
    const { start, head } = workerIn(scene);
    await start('a');
    const request = new Request('http://localhost/api/claims', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ agents: ['quotes'] }),
      signal: gone.signal,
    });
    expect((await scene.app.request(request)).status).toBe(204);
    expect(gone.signal.aborted).toBe(true);
    expect(await head('a')).toMatchObject({ status: 'READY', work: { claims: 0 } });
  });

  it('parks a run that is too large to send, and returns the next one', async () => {
    const scene = apiScene();
    const { claim, start, send, head, sweep } = workerIn(scene);
    await start('large');
    await claim();
    // 100 results of 30 KB: a request is limited to 1 MB.
    for (let part = 0; part < 4; part++) {
      const toolResults = Object.fromEntries(
        Array.from({ length: 25 }, (_, i) => [`call-${part}-${i}`, 'x'.repeat(30_000)]),
      );
      const more = part === 3 ? { status: 'READY' } : {};
      expect(await send('/api/runs/large/checkpoints', { toolResults, ...more }, 2 + part)).toMatchObject({
        version: 3 + part,
      });
    }
    await start('small');
    expect(await claim()).toMatchObject({ run: 'small' });
    await send('/api/runs/small/finish', { status: 'SUCCEEDED' }, 2);
    const { status, work } = await head('large');
    expect([status, work?.lease, work?.claims]).toEqual(['READY', undefined, 0]);
    expect(work?.parkedReason).toMatch(/^Checkpoint 7 of run "large" has \d+ bytes; at most \d+ can be sent/);
    expect(await claim()).toBeUndefined();
    // The sweeper lets the workers try again later.
    const pauses: number[] = [];
    for (let tries = 0; tries < 3; tries++) {
      const { dueAt = 0 } = (await head('large')).work ?? {};
      pauses.push(dueAt - scene.clock.now());
      scene.clock.moveTo(dueAt);
      await sweep();
      expect((await head('large')).work?.parkedReason).toBeUndefined();
      expect(await claim()).toBeUndefined();
      expect((await head('large')).work?.parkedReason).toMatch(/at most/);
    }
    expect(pauses).toEqual([60_000, 240_000, 960_000]);
  });

  it.each([
    [{ agents: [] }, /agents/],
    [{ agents: ['a'], wait: { seconds: 21 } }, /`wait` must be at most 20 seconds/],
    [{ agents: ['a'], lease: { seconds: 4 } }, /`lease` must be from 5 seconds to 15 minutes/],
    [{ agents: ['a'], lease: { hours: 1 } }, /`lease` must be from 5 seconds to 15 minutes/],
    [{ agents: ['a'], lease: {} }, /`lease` must be a duration/],
    [{ agents: ['a'], worker: '' }, /worker/],
    [{ agents: 'a' }, /agents/],
    [{ agents: ['a'], tenant: 'acme' }, /tenant/],
  ])('refuses %j', async (json, message) => {
    const { status, json: problem } = await apiScene().callApi('/api/claims', { json });
    expect([status, problem.code]).toEqual([400, 'INVALID_INPUT']);
    expect(JSON.stringify(problem)).toMatch(message);
  });

  it('costs two reads of the index while nothing is ready, and few requests for a run', async () => {
    const { storage, calls } = counted(memoryStorage());
    const scene = apiScene(storage);
    const { claim, start } = workerIn(scene);
    const costOf = async (action: () => Promise<unknown>) => {
      const before = { ...calls };
      await action();
      return Object.fromEntries(Object.entries(calls).map(([call, count]) => [call, count - Object(before)[call]]));
    };
    expect(await costOf(claim)).toEqual({ read: 0, range: 0, list: 2, commit: 0 });
    await start('other', 'other');
    expect(await costOf(claim)).toEqual({ read: 0, range: 0, list: 2, commit: 0 });
    await start('a');
    expect(await costOf(claim)).toEqual({ read: 1, range: 2, list: 2, commit: 1 });
    for (const run of ['b', 'c', 'd']) await start(run);
    await pauseAgent(await scene.runtime.contexts.forTenant(), 'quotes');
    expect(await costOf(claim)).toEqual({ read: 1, range: 1, list: 2, commit: 0 });
  });
});
