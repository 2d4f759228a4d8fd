import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { projectOf, type ServerProcess, serverOf } from './scene.ts';

interface Claimed {
  readonly run: string;
  readonly lease: { readonly id: string };
  readonly checkpoint: { readonly version: number };
  readonly approvals: readonly object[];
}

/** The requests of a worker to a local server. */
const workerOf = (server: ServerProcess) => {
  async function post(path: string, body: object, version?: number, signal?: AbortSignal) {
    const headers = {
      authorization: `Bearer ${server.key}`,
      'content-type': 'application/json',
      ...(version !== undefined && { 'if-match': `"${version}"` }),
    };
    const init = { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) };
    const response = await fetch(`${server.url}${path}`, init);
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return response.status === 204 ? undefined : ((await response.json()) as Record<string, unknown>);
  }
  return {
    post,
    claim: (fields: object = {}, signal?: AbortSignal) =>
      post('/api/claims', { agents: ['quotes'], worker: 'tester', ...fields }, undefined, signal) as Promise<
        Claimed | undefined
      >,
  };
};

describe('a worker of the local server', () => {
  it('runs an agent that no file defines, and its approvers get links', async () => {
    const server = serverOf(projectOf(), []);
    await server.ready();
    const { claim, post } = workerOf(server);
    const waiting = claim();
    await server.waitForLine(/Worker tester runs quotes/);
    expect((await server.callApi<{ agents: object[] }>('/api/agents')).agents).toEqual([{ name: 'quotes' }]);
    await server.start('quotes', { item: 'chair' }, 'q');
    const claimed = await waiting;
    expect(claimed).toMatchObject({ run: 'q', input: { item: 'chair' }, checkpoint: { version: 2 } });
    await server.waitForLine(/ q +starts: quotes \(tester\)/);
    await post('/api/runs/q/approvals', { approval: { name: 'buy', title: 'Buy it?', approvers: ['user:ann'] } }, 2);
    await server.waitForLine(/ q +asks user:ann: Buy it\?/);
    const next = claim();
    await fetch(await server.link('q'), { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) });
    expect(await next).toMatchObject({ run: 'q', approvals: [{ name: 'buy', approved: true, by: ['user:ann'] }] });
    await server.waitForLine(/ q +resumes \(tester\)/);
    await post('/api/runs/q/finish', { status: 'SUCCEEDED', result: 'bought' }, 4);
    await server.waitForLine(/ q +succeeded after/);
    expect(await server.callApi('/api/runs/q')).toMatchObject({ status: 'SUCCEEDED', result: 'bought' });
  });

  it('gets no run after it has closed its connection', async () => {
    const server = serverOf(projectOf(), []);
    await server.ready();
    const { claim } = workerOf(server);
    const gone = new AbortController();
    const left = claim({}, gone.signal).catch(() => 'left');
    await server.waitForLine(/Worker tester runs quotes/);
    gone.abort();
    expect(await left).toBe('left');
    await pause(300);
    await server.start('quotes', null, 'q');
    await pause(1_500);
    expect(await server.callApi('/api/runs/q')).toMatchObject({ status: 'READY' });
    expect(await claim({ wait: { seconds: 0 } })).toMatchObject({ run: 'q', checkpoint: { version: 2 } });
  });

  it('loses its run when it crashes, and a server that was killed hands the run out again', async () => {
    const project = projectOf();
    const killed = serverOf(project, []);
    await killed.ready();
    await killed.start('quotes', null, 'q');
    expect(await workerOf(killed).claim({ lease: { seconds: 5 } })).toMatchObject({ run: 'q' });
    await killed.kill();
    const server = serverOf(project, []);
    await server.ready();
    const { claim, post } = workerOf(server);
    expect(await claim({ wait: { seconds: 15 } })).toMatchObject({ run: 'q', checkpoint: { version: 3 } });
    await expect(post('/api/runs/q/finish', { status: 'SUCCEEDED' }, 2)).rejects.toThrow(/412 .*STALE_VERSION/);
    await post('/api/runs/q/finish', { status: 'SUCCEEDED' }, 3);
  });
});
