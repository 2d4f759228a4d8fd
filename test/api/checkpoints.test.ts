import { describe, expect, it } from 'vitest';
import { MAX_INLINE_PAYLOAD_BYTES } from '../../lambda/http/limits.ts';
import { payload } from '../../lambda/index.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { describeOnEachStorage } from '../runtime/storages.ts';
import { type ApiScene, apiScene, PICTURE } from './scene.ts';

/** A run that waits for an approval. */
async function waiting(scene: ApiScene, input: object = {}): Promise<string> {
  const { json } = await scene.callApi('/api/runs', { json: { agent: 'trips', input } });
  await scene.settle();
  return String(json.run);
}

interface Summary {
  readonly version: number;
  readonly kind: string;
}

describeOnEachStorage('checkpoints over HTTP', (open) => {
  it('are listed in pages, oldest or newest first', async () => {
    const scene = apiScene(await open());
    const run = await waiting(scene);
    const versions = async (query: string, next: 'from' | 'to') => {
      const found: number[] = [];
      for (let more = ''; ; ) {
        const { json } = await scene.callApi(`/api/runs/${run}/checkpoints?limit=2${query}${more}`);
        found.push(...(json.checkpoints as Summary[]).map(({ version }) => version));
        if (json.next === undefined) return found;
        more = `&${next}=${json.next}`;
      }
    };
    const all = await versions('', 'from');
    expect(all.length).toBeGreaterThan(3);
    expect(all).toEqual(all.map((_, i) => i + 1));
    expect(await versions('&newestFirst=true', 'to')).toEqual(all.toReversed());
    expect(await versions('&from=2&to=3', 'from')).toEqual([2, 3]);
  });

  it('are loaded by version, as the latest and by name, with their version as ETag', async () => {
    const scene = apiScene(await open());
    const first = await scene.trips.store.save({ run: 'plain', name: 'first/one' });
    await scene.trips.store.save({ run: 'plain', expectedVersion: first, step: 'second' });
    const run = await waiting(scene, { budget: 3 });
    const latest = await scene.callApi(`/api/runs/${run}/checkpoints/latest`);
    expect(latest.json).toMatchObject({
      isComplete: true,
      isDurable: true,
      status: 'WAITING_FOR_APPROVAL',
      content: {
        state: { budget: 3, seen: ['begun', 'searched'] },
        toolResults: { '@input': { value: { budget: 3 } } },
      },
    });
    const etag = latest.headers.get('etag') ?? '';
    expect(etag).toBe(`"${latest.json.version}"`);
    const same = await scene.callApi(`/api/runs/${run}/checkpoints/latest`, {
      headers: { 'if-none-match': `"1", ${etag}` },
    });
    expect([same.status, same.text, same.headers.get('etag')]).toEqual([304, '', etag]);
    const other = await scene.callApi(`/api/runs/${run}/checkpoints/1`, { headers: { 'if-none-match': etag } });
    expect([other.status, other.json.version]).toEqual([200, 1]);
    for (const name of ['name:first%2Fone', '~name~3Afirst~2Fone'])
      expect((await scene.callApi(`/api/runs/plain/checkpoints/${name}`)).json).toMatchObject({
        version: 1,
        name: 'first/one',
      });
    expect(await scene.callApi(`/api/runs/${run}/checkpoints/999`)).toMatchObject({
      status: 404,
      json: { code: 'CHECKPOINT_NOT_FOUND' },
    });
    for (const wrong of ['0', '-1', 'first', '1.5', 'name:', '99999999999999'])
      expect([wrong, (await scene.callApi(`/api/runs/${run}/checkpoints/${wrong}`)).status]).toEqual([wrong, 400]);
  });

  it('return a large state in parts until it is complete', async () => {
    const scene = apiScene(await open());
    const messages = Array.from({ length: 3000 }, (_, i) => ({
      role: 'user',
      text: `message ${i} ${'x'.repeat(100)}`,
    }));
    await scene.trips.store.save({ run: 'chat', state: { messages, 'a/b': { deep: 'x'.repeat(500_000) } } as never });
    const whole = await scene.callApi('/api/runs/chat/checkpoints/1?bytes=50000');
    expect(whole.text.length).toBeLessThan(60_000);
    expect(whole.json).toMatchObject({
      isComplete: false,
      content: { state: { messages: { $: ['truncated', 'list', 3000, expect.any(Array)] } } },
    });
    const seen: unknown[] = [];
    while (seen.length < 3000) {
      const { json } = await scene.callApi(`/api/runs/chat/checkpoints/1?path=/state/messages&from=${seen.length}`);
      const { content } = json as { content: { $: [string, string, number, unknown[]] } };
      seen.push(...content.$[3]);
    }
    expect(seen).toEqual(messages);
    const text = await scene.callApi('/api/runs/chat/checkpoints/1?path=/state/a~1b/deep&from=499990');
    expect(text.json.content).toEqual({ $: ['truncated', 'text', 500_000, 'xxxxxxxxxx'] });
    expect(await scene.callApi('/api/runs/chat/checkpoints/1?path=/state/none')).toMatchObject({
      status: 404,
      json: { code: 'PART_NOT_FOUND' },
    });
    for (const query of ['path=state', 'from=-1', 'from=1.5', 'bytes=1', 'bytes=9999999', `path=/${'x'.repeat(4001)}`])
      expect([query, (await scene.callApi(`/api/runs/chat/checkpoints/1?${query}`)).status]).toEqual([query, 400]);
    // A truncated document cannot be saved as a state by mistake.
    const fork = await scene.callApi('/api/runs/chat/fork', { json: { state: whole.json.content } });
    expect([fork.status, fork.json.code]).toEqual([400, 'INVALID_INPUT']);
  });

  it('return the payloads that they refer to, and no others', async () => {
    const scene = apiScene(await open());
    const run = await waiting(scene);
    const { json } = await scene.callApi(`/api/runs/${run}/checkpoints/latest`);
    const [shot] = json.payloads as { id: string; size: number; type: string }[];
    expect(shot).toMatchObject({ size: PICTURE.length, type: 'image/png' });
    const url = `/api/runs/${run}/checkpoints/latest/payloads/${shot?.id}`;
    const got = await scene.app.request(url);
    expect(new Uint8Array(await got.arrayBuffer())).toEqual(PICTURE);
    expect(Object.fromEntries(got.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': `inline; filename="${shot?.id}.png"`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining('sandbox'),
    });
    const head = await scene.callApi(url, { method: 'HEAD' });
    expect([head.status, head.text, head.headers.get('content-length')]).toEqual([200, '', String(PICTURE.length)]);
    for (const wrong of [`${run}/checkpoints/1/payloads/${shot?.id}`, `${run}/checkpoints/latest/payloads/x`])
      expect((await scene.callApi(`/api/runs/${wrong}`)).status).toBe(404);
    const other = await waiting(scene);
    expect((await scene.callApi(`/api/runs/${other}/checkpoints/latest/payloads/${shot?.id}`)).status).toBe(404);
  });

  it('can be compared', async () => {
    const scene = apiScene(await open());
    const run = await waiting(scene);
    const { json } = await scene.callApi(`/api/runs/${run}/diff?before=2&after=latest`);
    expect(json).toMatchObject({
      added: [{ path: 'seen[1]', value: 'searched' }, { path: 'shot' }],
      removed: [],
      isComplete: true,
    });
    expect((await scene.callApi(`/api/runs/${run}/diff?before=2`)).status).toBe(400);
  });
});

describe('a response above the limit of Lambda', () => {
  it('is replaced by an error that says to request less', async () => {
    const scene = apiScene();
    const labels = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`label ${i}`, 'x'.repeat(900)]));
    let version = await scene.trips.store.save({ run: 'x', labels });
    for (let i = 0; i < 600; i++)
      version = await scene.trips.store.save({ run: 'x', expectedVersion: version, labels });
    const all = await scene.callApi('/api/runs/x/checkpoints?limit=1000');
    expect([all.status, all.json.code]).toEqual([413, 'TOO_LARGE']);
    expect((await scene.callApi('/api/runs/x/checkpoints?limit=100')).status).toBe(200);
  });
});

describe('a diff', () => {
  it('is truncated if it is large', async () => {
    const scene = apiScene();
    const { store } = scene.trips;
    const first = await store.save({ run: 'x', state: { old: 'y'.repeat(5_000_000) } as never });
    const list = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`key ${i}`, 'z'.repeat(1000)]));
    await store.save({ run: 'x', expectedVersion: first, state: list as never });
    const { json, text } = await scene.callApi('/api/runs/x/diff?before=1&after=2');
    expect(json.isComplete).toBe(false);
    expect(json.added).toHaveLength(500);
    expect(text.length).toBeLessThan(4_000_000);
    const many = Object.fromEntries(Array.from({ length: 501 }, (_, i) => [`key ${i}`, i]));
    const before = await store.save({ run: 'y', state: {} as never });
    await store.save({ run: 'y', expectedVersion: before, state: many as never });
    expect((await scene.callApi('/api/runs/y/diff?before=1&after=2')).json.isComplete).toBe(false);
    expect((await scene.callApi('/api/runs/y/diff?before=2&after=2')).json).toMatchObject({
      isComplete: true,
      added: [],
    });
  });
});

describe('a payload', () => {
  const urls = {
    get: async (partition: string, id: string) => `https://bucket.test/${partition}/${id}?signed`,
    put: async () => '',
  };
  const large = 'x'.repeat(MAX_INLINE_PAYLOAD_BYTES + 1);
  const kept = async (scene: ApiScene, content: string, type?: string) => {
    await scene.trips.store.save({
      run: 'a/b',
      state: { file: payload(content, type === undefined ? {} : { type }) } as never,
    });
    const { json } = await scene.callApi('/api/runs/a%2Fb/checkpoints/1');
    return (json.payloads as { id: string }[])[0]?.id;
  };

  it('is served by a redirect to a signed URL if it is too large for Lambda, and inline otherwise', async () => {
    const scene = apiScene(memoryStorage(), {}, { signedUrls: urls });
    const id = await kept(scene, large);
    const got = await scene.callApi(`/api/runs/a%2Fb/checkpoints/1/payloads/${id}`);
    expect([got.status, got.headers.get('location')]).toEqual([302, `https://bucket.test/default/a%2Fb/${id}?signed`]);
    expect(got.headers.get('referrer-policy')).toBe('no-referrer');
    const local = apiScene();
    const there = await kept(local, large);
    expect((await local.callApi(`/api/runs/a%2Fb/checkpoints/1/payloads/${there}`)).text.length).toBe(large.length);
  });

  it('is rejected if it is too large and encrypted, since a signed URL would return ciphertext', async () => {
    const { localKeys } = await import('../../lambda/checkpoints/encryption/key-ring.ts');
    const keys = localKeys({ current: 'k', keys: { k: Buffer.alloc(32, 5) } });
    const scene = apiScene(memoryStorage(), { keys }, { signedUrls: urls });
    const id = await kept(scene, large);
    const got = await scene.callApi(`/api/runs/a%2Fb/checkpoints/1/payloads/${id}`);
    expect([got.status, got.json.code]).toEqual([413, 'TOO_LARGE']);
  });

  it.each([
    'text/html',
    'image/svg+xml',
    'application/xhtml+xml',
    'text/xml',
    'image/png\r\nx-evil: 1',
    'IMAGE/PNG ',
    'text/plain',
    undefined,
  ])('is served as a download, never as a page, if its content type is %j', async (type) => {
    const scene = apiScene();
    const id = await kept(scene, '<script>alert(1)</script>', type);
    const { headers } = await scene.callApi(`/api/runs/a%2Fb/checkpoints/1/payloads/${id}`);
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('content-disposition')).toBe(`attachment; filename="${id}"`);
    expect(headers.has('x-evil')).toBe(false);
  });
});
