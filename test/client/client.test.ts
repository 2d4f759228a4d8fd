import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { build } from 'esbuild';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApi } from '../../lambda/api/app.ts';
import { createClient, type RunEvent, updateOutput } from '../../lambda/client.ts';
import { ROLES } from '../../lambda/http/caller.ts';
import { agent, runAgents } from '../../lambda/index.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';

const chat = agent({
  name: 'chat',
  async run(ctx, input: { readonly words: number }) {
    for (let i = 0; i < input.words; i++) {
      ctx.emit({ word: i });
      await ctx.step(`word ${i}`, async ({ stream }) => {
        stream(`w${i} `);
        return i;
      });
    }
    const { approved } = await ctx.approval('send', { title: 'Send it?', approvers: ['user:ann'] });
    ctx.emit(approved ? 'sent' : 'dropped');
    return approved;
  },
});

interface ServerOptions {
  /** Cuts each response after this many bytes. */
  readonly cutAfterBytes?: number;
  readonly eventPollMs?: number;
  /** Answers the first requests with this status. */
  readonly failures?: { count: number; readonly status: number };
}

/** The API on a real port, with an agent that runs in this process. */
async function serve({ cutAfterBytes = Infinity, eventPollMs, failures }: ServerOptions = {}) {
  const storage = memoryStorage();
  const served = chat.with({ storage, log: () => {} });
  const worker = runAgents([served], { poll: { milliseconds: 10 }, sweep: { milliseconds: 100 } });
  const caller = { tenant: 'default', person: 'user:ann', groups: [], decidesForOthers: false, roles: new Set(ROLES) };
  const api = createApi({
    runtime: served.runtime,
    identify: () => caller as never,
    telemetry: { log: () => {}, count: () => {} },
    ...(eventPollMs !== undefined && { eventPollMs }),
  });
  const listener = getRequestListener((request) => api.fetch(request), { overrideGlobalObjects: false });
  let connections = 0;
  const server = createServer((incoming, outgoing) => {
    if (incoming.url?.includes('/events')) connections += 1;
    if (failures && failures.count > 0) {
      failures.count -= 1;
      outgoing.writeHead(failures.status).end();
      return;
    }
    if (incoming.url?.includes('/events')) cutAfter(outgoing, cutAfterBytes);
    listener(incoming, outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    await worker.stop();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { client: createClient({ url: `http://127.0.0.1:${port}/` }), connections: () => connections };
}

/** Lets a connection break off in the middle of an event stream. */
function cutAfter(outgoing: ServerResponse, bytes: number): void {
  const write = outgoing.write.bind(outgoing) as (chunk: Uint8Array, sent?: () => void) => boolean;
  let left = bytes;
  outgoing.write = ((chunk: Uint8Array) => {
    const isLast = chunk.length > left;
    const part = isLast ? chunk.subarray(0, Math.max(0, left)) : chunk;
    left -= chunk.length;
    return write(part, isLast ? () => outgoing.destroy() : undefined);
  }) as typeof outgoing.write;
}

const durable = (events: readonly RunEvent[]) =>
  events.flatMap((event) =>
    event.type === 'event' ? [event.data] : event.type === 'checkpoint' ? [event.checkpoint.version] : [],
  );

describe('waitstate/client', () => {
  it.each([
    ['a server that keeps connections open', { eventPollMs: 10 }],
    ['a server that answers once, as Lambda does', {}],
    ['connections that break off', { eventPollMs: 10, cutAfterBytes: 1_500 }],
  ])('follows a run to its end over %s', { timeout: 60_000 }, async (_, options) => {
    const { client, connections } = await serve(options);
    const { run } = await client.start({ agent: 'chat', input: { words: 5 }, idempotencyKey: 'k1' });
    expect(await client.start({ agent: 'chat', input: { words: 5 }, idempotencyKey: 'k1' })).toMatchObject({ run });
    const events: RunEvent[] = [];
    for await (const event of client.follow(run, { reconnectMs: 20 })) {
      events.push(event);
      if (event.type === 'status' && event.status === 'WAITING_FOR_APPROVAL') {
        const [approval] = await client.inbox();
        const { contentHash } = await client.approval(run, approval?.id ?? '');
        await client.decide(run, 'send', { answer: 'approve', contentHash });
      }
    }
    const versions = events.flatMap((event) => (event.type === 'checkpoint' ? [event.checkpoint.version] : []));
    expect(versions).toEqual(versions.map((_, i) => i + 1));
    expect(durable(events).filter((each) => typeof each !== 'number')).toEqual([
      ...[0, 1, 2, 3, 4].map((word) => ({ word })),
      'sent',
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'end', status: 'SUCCEEDED' });
    expect(await client.run(run)).toMatchObject({ status: 'SUCCEEDED', result: true });
    if ('cutAfterBytes' in options) expect(connections()).toBeGreaterThan(3);
    // From any event on, the rest follows.
    const from = events.findIndex((event) => event.type === 'event');
    const rest: RunEvent[] = [];
    for await (const event of client.follow(run, { after: (events[from] as { id: string }).id, reconnectMs: 20 }))
      rest.push(event);
    expect(durable(rest)).toEqual(durable(events.slice(from + 1)));
  });

  it('tries again after errors of the server, and throws those of the request', async () => {
    const failures = { count: 2, status: 503 };
    const { client } = await serve({ failures });
    failures.count = 0;
    const { run } = await client.start({ agent: 'chat', input: { words: 0 } });
    failures.count = 1;
    const first = await client.follow(run, { reconnectMs: 20 }).next();
    expect(first.value).toMatchObject({ type: 'checkpoint' });
    await expect(client.follow('no such run').next()).rejects.toMatchObject({
      name: 'ClientError',
      status: 404,
      code: 'RUN_NOT_FOUND',
    });
    await expect(client.run('/../x?')).rejects.toMatchObject({ status: 404, code: 'RUN_NOT_FOUND' });
  });

  it('stops when its signal aborts, also while it waits to connect again', async () => {
    const { client } = await serve();
    const { run } = await client.start({ agent: 'chat', input: { words: 0 } });
    const aborter = new AbortController();
    const seen: string[] = [];
    const following = (async () => {
      for await (const { type } of client.follow(run, { signal: aborter.signal })) seen.push(type);
    })();
    await expect.poll(() => seen).toContain('status');
    aborter.abort(new Error('closed'));
    await expect(following).rejects.toThrow('closed');
  });

  it('is at most 4 KB minified, and imports nothing that a browser lacks', async () => {
    const { outputFiles, metafile } = await build({
      entryPoints: ['lambda/client.ts'],
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'browser',
      metafile: true,
      write: false,
    });
    expect(outputFiles[0]?.contents.length).toBeLessThan(4_000);
    expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([]);
  });
});

describe('updateOutput', () => {
  const output = (step: string, number: number, ...parts: unknown[]): RunEvent => ({
    type: 'output',
    step,
    attempt: 1,
    number,
    output: parts,
  });
  const recorded = (step: string, labels = {}): RunEvent => ({
    type: 'checkpoint',
    id: '1',
    checkpoint: { version: 1, kind: 'save', status: 'RUNNING', step, stepNumber: 1, savedAt: '', labels },
  });

  it('joins texts, keeps steps apart, and drops a step when it is recorded', () => {
    const events = [output('a', 0, 'x'), output('b', 0, 1), output('a', 1, 'y', { tool: 1 }), output('a', 2, 'z')];
    const shown = events.reduce(updateOutput, {});
    expect(shown).toEqual({ a: ['xy', { tool: 1 }, 'z'], b: [1] });
    expect(updateOutput(shown, recorded('a, c'))).toEqual({ b: [1] });
    expect(updateOutput(shown, recorded('', { failed: 'b' }))).toEqual({ a: ['xy', { tool: 1 }, 'z'] });
    expect(updateOutput(shown, recorded('c'))).toBe(shown);
    expect(updateOutput(shown, recorded('c, d and 40 more'))).toEqual({});
  });

  it('starts again with another attempt, and is empty when the run stops running', () => {
    const shown = updateOutput({}, output('a', 0, 'first'));
    expect(updateOutput(shown, output('a', 0, 'second'))).toEqual({ a: ['second'] });
    expect(updateOutput(shown, { type: 'end', id: '1', status: 'FAILED' })).toEqual({});
    expect(updateOutput(shown, { type: 'status', id: '1', status: 'RUNNING' })).toBe(shown);
  });
});
