import { describe, expect, it } from 'vitest';
import { localKeys } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { withdraw } from '../../lambda/runtime/approvals/decide.ts';
import { revokeToken } from '../../lambda/runtime/approvals/tokens.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { type Calls, counted, describeOnEachStorage } from '../runtime/storages.ts';
import { type ApiScene, apiScene, PICTURE } from './scene.ts';

let runs = 0;

/** A suspended run, and the path of a link to its approval. */
async function requestApproval(scene: ApiScene) {
  const run = `run-${++runs}`;
  await scene.callApi('/api/runs', { json: { agent: 'trips', id: run } });
  await scene.settle();
  const token = await scene.linkTo(run);
  return { run, token, path: `/approvals/${token}` };
}

const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const FORM = { ...BROWSER, 'content-type': 'application/x-www-form-urlencoded' };

describeOnEachStorage('an approval link', (open) => {
  it('shows the request and changes nothing, however often it is viewed', async () => {
    const scene = apiScene(await open());
    const { run, path } = await requestApproval(scene);
    const { partition } = await scene.runtime.contexts.forRun(run);
    const before = await scene.storage.records.range(partition);
    const shown = await scene.callApi(path, { as: 'nobody' });
    expect(shown.json).toMatchObject({
      person: 'user:ann',
      run: { status: 'WAITING_FOR_APPROVAL', agent: 'trips' },
      approval: {
        title: 'Book it?',
        status: 'PENDING',
        show: { price: 12, when: { $: ['date', 0] } },
        facts: { budget: 0 },
      },
    });
    expect(Object.fromEntries(shown.headers)).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      vary: 'Accept',
    });
    const page = await scene.callApi(path, { headers: BROWSER, as: 'nobody' });
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^text\/html/)]);
    expect(page.text).toContain('Book it?');
    for (const headers of [{}, BROWSER]) {
      const head = await scene.callApi(path, { method: 'HEAD', headers, as: 'nobody' });
      expect([head.status, head.text]).toEqual([200, '']);
    }
    expect(await scene.storage.records.range(partition)).toEqual(before);
  });

  it('decides, returns the recorded decision for the same answer, and rejects another', async () => {
    const scene = apiScene(await open());
    const { path } = await requestApproval(scene);
    const post = (json: object) => scene.callApi(path, { json, as: 'nobody' });
    const first = await post({ answer: 'approve', comment: 'fine', edits: { row: 1 } });
    expect(first).toMatchObject({
      status: 200,
      json: { approval: { status: 'APPROVED', votes: [{ by: 'user:ann', comment: 'fine', edits: { row: 1 } }] } },
    });
    expect((await post({ answer: 'approve', comment: 'other words' })).json.approval).toEqual(first.json.approval);
    const other = await post({ answer: 'reject' });
    expect([other.status, other.json.code, other.headers.get('content-type')]).toEqual([
      409,
      'APPROVAL_DECIDED',
      'application/problem+json',
    ]);
    expect(scene.counted.filter((metric) => metric === 'DecisionRecorded')).toHaveLength(2);
    await scene.settle();
    expect((await scene.callApi(path)).json.run).toMatchObject({ status: 'WAITING_FOR_SIGNAL' });
  });

  it('decides once in a hundred concurrent requests', async () => {
    const scene = apiScene(await open());
    const { run, path } = await requestApproval(scene);
    const statuses = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const body = JSON.stringify({ answer: i % 2 ? 'approve' : 'reject' });
        return (
          await scene.app.request(path, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
        ).status;
      }),
    );
    expect(new Set(statuses)).toEqual(new Set([200, 409]));
    expect(statuses.filter((status) => status === 200)).toHaveLength(50);
    expect((await scene.operator().approval(run, 'book')).votes).toHaveLength(1);
  });

  it('rejects a decision after the approval has expired or was withdrawn', async () => {
    const scene = apiScene(await open());
    const first = await requestApproval(scene);
    await withdraw(await scene.runtime.contexts.forRun(first.run), 'book', 'No longer needed.');
    expect(await scene.callApi(first.path, { json: { answer: 'approve' } })).toMatchObject({
      status: 410,
      json: { code: 'APPROVAL_WITHDRAWN' },
    });
    expect((await scene.callApi(first.path)).json).toMatchObject({ approval: { status: 'WITHDRAWN' } });
    const second = await requestApproval(scene);
    scene.clock.moveTo(scene.clock.now() + 86_400_000);
    expect(await scene.callApi(second.path, { json: { answer: 'approve' } })).toMatchObject({
      status: 410,
      json: { code: 'APPROVAL_EXPIRED' },
    });
  });

  it('returns the payloads of the approval, and no others of its run', async () => {
    const scene = apiScene(await open());
    const { run, path, token } = await requestApproval(scene);
    const other = await requestApproval(scene);
    const { show } = (await scene.callApi(path)).json.approval as { show: Record<'shot' | 'page', { $: string[] }> };
    const shot = await scene.app.request(`${path}/payloads/${show.shot.$[1]}`);
    expect(new Uint8Array(await shot.arrayBuffer())).toEqual(PICTURE);
    expect(shot.headers.get('content-disposition')).toMatch(/^inline/);
    const page = await scene.callApi(`${path}/payloads/${show.page.$[1]}`, { as: 'nobody' });
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': expect.stringMatching(/^attachment/),
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringMatching(/^sandbox/),
      'referrer-policy': 'no-referrer',
    });
    const { payloads } = await scene.operator().checkpoint(run);
    const unseen = payloads.find(({ id }) => !JSON.stringify(show).includes(id))?.id ?? 'x';
    const nothing = await scene.callApi('/approvals/nothing');
    for (const wrong of [
      `${path}/payloads/${unseen}`,
      `${other.path}/payloads/${show.shot.$[1]}`,
      `${path}x/payloads/${show.shot.$[1]}`,
      `${path}/payloads/..%2F..%2Fetc`,
    ])
      expect([wrong, (await scene.callApi(wrong)).text]).toEqual([wrong, nothing.text]);
    expect(scene.logged.join()).not.toContain(token);
  });
});

describe('the page of an approval link', () => {
  it('accepts a form without JavaScript, and then shows the outcome', async () => {
    const scene = apiScene();
    const { path } = await requestApproval(scene);
    const sent = await scene.callApi(path, {
      body: 'answer=approve&comment=&edits=%7B%22row%22%3A2%7D&contentHash=',
      headers: FORM,
    });
    expect([sent.status, sent.headers.get('location')]).toEqual([303, '?decided=true']);
    expect((await scene.callApi(path)).json.approval).toMatchObject({
      status: 'APPROVED',
      votes: [{ edits: { row: 2 } }],
    });
    for (const query of ['decided=true', 'utm_source=mail&utm_source=again&fbclid=x'])
      expect((await scene.callApi(`${path}?${query}`, { headers: BROWSER })).status).toBe(200);
    const other = await scene.callApi(path, { body: 'answer=reject', headers: FORM });
    expect([other.status, other.headers.get('content-type')]).toEqual([409, expect.stringMatching(/^text\/html/)]);
    expect(other.text).toContain('voted approve');
  });

  it('keeps what the user typed after an error', async () => {
    const scene = apiScene();
    const { path } = await requestApproval(scene);
    const body = new URLSearchParams({ answer: 'approve', comment: 'My <b>words</b>', edits: '{"row":' });
    const refused = await scene.callApi(path, { body: String(body), headers: FORM });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('My &lt;b&gt;words&lt;/b&gt;');
    expect(refused.text).toContain('{&quot;row&quot;:');
    expect((await scene.callApi(path)).json.approval).toMatchObject({ status: 'PENDING', votes: [] });
  });

  it('shows an error if the link is invalid', async () => {
    const scene = apiScene();
    const nothing = await scene.callApi('/approvals/nothing', { headers: BROWSER });
    expect([nothing.status, nothing.headers.get('content-type')]).toEqual([404, expect.stringMatching(/^text\/html/)]);
    const sent = await scene.callApi('/approvals/nothing', { body: 'answer=approve', headers: FORM });
    expect([sent.status, sent.text]).toEqual([404, nothing.text]);
  });

  it('has no inline script or style, and a policy that allows none', async () => {
    const scene = apiScene();
    const { path, token } = await requestApproval(scene);
    const { text, headers } = await scene.callApi(path, { headers: BROWSER });
    expect(text).not.toMatch(/<script(?![^>]* src="\/approvals\/assets\/)|<style| style="| on\w+="/);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(policy).not.toMatch(/unsafe|\*|data:|https?:/);
    for (const [, file] of text.matchAll(/(?:src|href)="(\/approvals\/assets\/[^"]+)"/g)) {
      const asset = await scene.callApi(file ?? '', { as: 'nobody' });
      expect([asset.status, asset.headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable']);
      expect(asset.text).not.toContain(token);
    }
  });
});

describe('an invalid link', () => {
  it('gets the same response, whether it is forged, malformed, revoked, or of a deleted run', async () => {
    const scene = apiScene(undefined, { keys: localKeys({ current: 'k', keys: { k: Buffer.alloc(32, 9) } }) });
    const { token } = await requestApproval(scene);
    const revoked = (await requestApproval(scene)).token;
    await revokeToken(await scene.runtime.contexts.forTenant(), revoked);
    const gone = await requestApproval(scene);
    await scene.operator().cancel(gone.run);
    await scene.trips.store.delete(gone.run);
    const expired = await requestApproval(scene);
    const forged = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
    scene.clock.moveTo(scene.clock.now() + 8 * 86_400_000);
    const wrong = [
      forged,
      revoked,
      gone.token,
      expired.token,
      '',
      '..%2F..%2Fetc',
      `${'%C3%BC'.repeat(300)}`,
      '%00',
      '%',
      '%ff',
      '~',
      'assets',
      'assets/x.js',
    ];
    const responses = new Set<string>();
    for (const each of [...wrong, token.toUpperCase(), `${token}/payloads`, `${token}/payloads/x/y`]) {
      const { status, text, headers } = await scene.callApi(`/approvals/${each}`, { as: 'nobody' });
      responses.add(JSON.stringify([status, text, ...headers]));
    }
    for (const each of wrong.filter((part) => part !== '' && !part.includes('/'))) {
      const { status, text, headers } = await scene.callApi(`/approvals/${each}`, {
        json: { answer: 'approve' },
        as: 'nobody',
      });
      responses.add(JSON.stringify([status, text, ...headers]));
    }
    expect([...responses].map((response) => JSON.parse(response)[0])).toEqual([404]);
  });
});

describe('a decision by link', () => {
  it.each([
    ['an empty body', undefined],
    ['invalid JSON', '{'],
    ['a list', '[]'],
    ['null', 'null'],
    ['a missing answer', '{}'],
    ['an unknown answer', '{"answer":"maybe"}'],
    ['an answer of another type', '{"answer":["approve"]}'],
    ['an unknown field', '{"answer":"approve","by":"user:root"}'],
    ['a comment that is not text', '{"answer":"approve","comment":{"a":1}}'],
    ['a comment that is too long', `{"answer":"approve","comment":"${'x'.repeat(10_001)}"}`],
    ['a `contentHash` that is a number', '{"answer":"approve","contentHash":1}'],
    ['the hash of another request', '{"answer":"approve","contentHash":"00"}', 409, 'APPROVAL_CHANGED'],
    ['a prototype', '{"answer":"approve","__proto__":{"comment":"x"}}'],
    ['deep nesting', `{"answer":"approve","edits":${'['.repeat(40_000)}${']'.repeat(40_000)}}`],
    ['edits that are too large', `{"answer":"approve","edits":"${'x'.repeat(70_000)}"}`],
  ])('decides nothing and is rejected with %s', async (_, body, status = 400, code = 'INVALID_INPUT') => {
    const scene = apiScene();
    const { path } = await requestApproval(scene);
    const headers = { 'content-type': 'application/json' };
    const response = await scene.callApi(path, { method: 'POST', headers, ...(body !== undefined && { body }) });
    expect([response.status, response.json.code]).toEqual([status, code]);
    expect((await scene.callApi(path)).json.approval).toMatchObject({ status: 'PENDING', votes: [] });
  });

  it('keeps edits that are text in JSON, and parses them in a form', async () => {
    const scene = apiScene();
    const { path } = await requestApproval(scene);
    const sent = await scene.callApi(path, { json: { answer: 'approve', edits: '{"row":1}' } });
    expect(sent.json.approval).toMatchObject({ votes: [{ edits: '{"row":1}' }] });
  });

  it('is rejected above 100 KB, with another type or method, or with a repeated field', async () => {
    const scene = apiScene();
    const { path } = await requestApproval(scene);
    const large = await scene.callApi(path, { json: { answer: 'approve', comment: 'x'.repeat(110_000) } });
    expect([large.status, large.json.code]).toEqual([413, 'TOO_LARGE']);
    for (const type of ['text/xml', 'text/plain', 'multipart/form-data; boundary=x', '']) {
      const other = await scene.callApi(path, { body: '{"answer":"approve"}', headers: { 'content-type': type } });
      expect([type, other.status, other.json.code]).toEqual([type, 415, 'UNSUPPORTED_TYPE']);
    }
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const other = await scene.callApi(path, { method });
      expect([other.status, other.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
    }
    const twice = await scene.callApi(path, {
      body: 'answer=approve&answer=reject',
      headers: { 'content-type': FORM['content-type'] },
    });
    expect(twice.status).toBe(400);
    expect((await scene.callApi(path)).json.approval).toMatchObject({ status: 'PENDING' });
  });
});

describe('a request to an approval link', () => {
  type Send = (scene: ApiScene, path: string) => Promise<unknown>;
  const view: Send = (scene, path) => scene.callApi(path, { as: 'nobody' });
  const approve: Send = (scene, path) => scene.callApi(path, { json: { answer: 'approve' }, as: 'nobody' });

  /** The storage requests of the last of several requests to one link. */
  async function storageRequests(...sent: readonly Send[]): Promise<Partial<Calls>> {
    const { storage, calls } = counted(memoryStorage());
    const scene = apiScene(storage);
    const { path } = await requestApproval(scene);
    let before = { ...calls };
    for (const send of sent) {
      before = { ...calls };
      await send(scene, path);
    }
    const made = Object.entries(calls).map(([call, count]) => [call, count - before[call as keyof Calls]] as const);
    return Object.fromEntries(made.filter(([, count]) => count > 0));
  }

  it.each<[string, readonly Send[], Partial<Calls>]>([
    ['decides', [approve], { read: 2, commit: 1 }],
    ['repeats a decision', [approve, approve], { read: 3 }],
    ['shows a pending approval', [view], { read: 2 }],
    ['shows an approval that was approved', [approve, view], { read: 3 }],
  ])('takes exactly the expected storage requests when it %s', async (_, sent, expected) => {
    expect(await storageRequests(...sent)).toEqual(expected);
  });
});
