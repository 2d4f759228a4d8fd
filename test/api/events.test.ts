import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/index.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';
import { apiScene, caller } from './scene.ts';

const emitting = agent({
  name: 'emitting',
  async run(ctx) {
    ctx.emit({ text: 'two\nlines' });
    await ctx.step('work', () => 1);
    await ctx.waitForSignal('go');
    ctx.emit('gone');
  },
});

/** A run that waits for a signal after its first step, and an API on its storage. */
async function scene(eventPollMs?: number) {
  const storage = memoryStorage();
  const api = apiScene(storage, {}, eventPollMs === undefined ? {} : { eventPollMs });
  const world = testAgents(emitting, { storage });
  const run = await world.start({}, { id: 'r1' });
  return { ...api, run };
}

/** The messages of a stream: their ids, names and data. */
const parseMessages = (text: string) =>
  text
    .split('\n\n')
    .filter((block) => block.includes('data: '))
    .map((block) => {
      const field = (name: string) =>
        block
          .split('\n')
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2);
      return { id: field('id'), event: field('event'), data: JSON.parse(field('data') ?? 'null') };
    });

const SSE = { headers: { accept: 'text/event-stream' } };

describe('GET /api/runs/{run}/events', () => {
  it('returns pages of JSON that continue at their cursor', async () => {
    const { callApi, run } = await scene();
    const { status, json } = await callApi('/api/runs/r1/events');
    expect(status).toBe(200);
    expect(json).toMatchObject({ status: 'WAITING_FOR_SIGNAL', hasEnded: false });
    const types = (json.events as { type: string }[]).map(({ type }) => type);
    expect(types).toEqual(['checkpoint', 'checkpoint', 'event', 'checkpoint', 'checkpoint']);
    const nothing = await callApi(`/api/runs/r1/events?after=${json.cursor}`);
    expect(nothing.json).toMatchObject({ events: [], cursor: json.cursor });
    await run.signal('go');
    const rest = await callApi(`/api/runs/r1/events?after=${json.cursor}`);
    expect(rest.json).toMatchObject({ status: 'SUCCEEDED', hasEnded: true });
    expect(JSON.stringify(rest.json)).toContain('"data":"gone"');
  });

  it('refuses callers who cannot view runs, unknown runs and malformed cursors', async () => {
    const { callApi } = await scene();
    expect((await callApi('/api/runs/r1/events', { as: caller({ roles: ['approver'] }) })).status).toBe(403);
    expect((await callApi('/api/runs/r1/events', { as: caller({ tenant: 'other' }) })).status).toBe(404);
    expect((await callApi('/api/runs/none/events', SSE)).status).toBe(404);
    expect((await callApi('/api/runs/r1/events?after=x')).status).toBe(400);
    expect((await callApi('/api/runs/r1/events?limit=0')).status).toBe(400);
  });

  it('ends a stream after the events so far where the server cannot hold connections', async () => {
    const { callApi } = await scene();
    const { headers, text } = await callApi('/api/runs/r1/events', SSE);
    expect(headers.get('content-type')).toBe('text/event-stream');
    expect(text.startsWith('retry: 10000\n\n')).toBe(true);
    const messages = parseMessages(text);
    expect(messages.map(({ event }) => event)).toEqual([
      'checkpoint',
      'checkpoint',
      'event',
      'checkpoint',
      'checkpoint',
      'status',
    ]);
    expect(messages[2]?.data.data).toEqual({ text: 'two\nlines' });
    const last = messages.at(-1)?.id ?? '';
    const again = await callApi('/api/runs/r1/events', { headers: { ...SSE.headers, 'last-event-id': last } });
    expect(parseMessages(again.text)).toEqual([{ id: last, event: 'status', data: { status: 'WAITING_FOR_SIGNAL' } }]);
  });

  it('misses nothing when a reader is cut off after any message and connects again', async () => {
    const { callApi, run } = await scene();
    await run.signal('go');
    const all = parseMessages((await callApi('/api/runs/r1/events', SSE)).text);
    expect(all.at(-1)).toMatchObject({ event: 'end', data: { status: 'SUCCEEDED' } });
    for (const [i, { id }] of all.entries()) {
      const headers = { ...SSE.headers, 'last-event-id': id ?? '' };
      expect(parseMessages((await callApi('/api/runs/r1/events', { headers })).text)).toEqual(
        i === all.length - 1 ? all.slice(-1) : all.slice(i + 1),
      );
    }
  });

  it('keeps a stream open until the run ends, and sends what happens meanwhile', async () => {
    const { app, run } = await scene(10);
    const response = await app.request('/api/runs/r1/events', SSE);
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('event: status')) text += (await reader.read()).value ?? '';
    await run.signal('go');
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
    const messages = parseMessages(text);
    expect(messages.at(-1)).toMatchObject({ event: 'end', data: { status: 'SUCCEEDED' } });
    expect(messages.filter(({ event }) => event === 'event').map(({ data }) => data.data)).toEqual([
      { text: 'two\nlines' },
      'gone',
    ]);
  });
});
