import { describe, expect, it } from 'vitest';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { counted, describeOnEachStorage, interceptCommits } from '../runtime/storages.ts';
import { type ApiScene, apiScene, caller } from './scene.ts';

const PATH = '/api/approvals/decide';
const ann = caller({ person: 'user:ann', roles: ['approver'] });
const bob = caller({ person: 'user:bob', roles: ['approver'] });
const bobInGroup = caller({ person: 'user:bob', groups: ['group:desk'], roles: ['approver'] });
const portal = caller({ person: undefined as never, roles: ['approver'], decidesForOthers: true });

interface Shown {
  readonly run: string;
  readonly approval: string;
  readonly contentHash: string;
}

/** Starts runs that wait for an approval; returns what was shown for each. */
async function waiting(scene: ApiScene, runs: readonly string[], tenant = 'default'): Promise<readonly Shown[]> {
  for (const id of runs) await scene.operator(tenant).start({ agent: 'trips', id, input: { budget: id.length } });
  await scene.settle();
  return Promise.all(
    runs.map(async (run) => {
      const { contentHash } = await scene.operator(tenant).approval(run, 'book');
      return { run, approval: 'book', contentHash };
    }),
  );
}

/** What came of each approval: its status and whether the vote is new, or the status and code of the problem. */
const summary = (json: Readonly<Record<string, unknown>>): readonly string[] =>
  (json.results as readonly Record<string, never>[]).map(({ run, status, isNew, problem }) =>
    problem
      ? `${run}: ${Object(problem).status} ${Object(problem).code}`
      : `${run}: ${status}${isNew ? '' : ', as before'}`,
  );

describeOnEachStorage('approvals decided together over HTTP', (open) => {
  it('have a result each, with a problem for those that cannot be decided', async () => {
    const scene = apiScene(await open());
    const approvals = await waiting(scene, ['a', 'b', 'c', 'd']);
    await scene.operator().decide('b', { approval: 'book', by: 'user:ann', answer: 'reject' });
    await scene.operator().withdraw('c', 'book', 'Not needed.');
    const changed = approvals.map((each) => (each.run === 'd' ? { ...each, contentHash: 'f'.repeat(64) } : each));
    const missing = { run: 'none', approval: 'book', contentHash: 'x' };
    const json = { answer: 'approve', comment: 'Fine.', approvals: [...changed, missing] };
    const first = await scene.callApi(PATH, { json, as: ann });
    expect(first.status).toBe(200);
    expect(summary(first.json)).toEqual([
      'a: APPROVED',
      'b: 409 APPROVAL_DECIDED',
      'c: 410 APPROVAL_WITHDRAWN',
      'd: 409 APPROVAL_CHANGED',
      'none: 404 APPROVAL_NOT_FOUND',
    ]);
    const [decided] = first.json.results as readonly Record<string, unknown>[];
    expect(decided).toMatchObject({ title: 'Book it?', votes: [{ by: 'user:ann', answer: 'approve', counts: true }] });
    expect(first.text).not.toContain('Fine.');
    expect((await scene.operator().approval('a', 'book')).votes).toMatchObject([{ by: 'user:ann', comment: 'Fine.' }]);
    expect((await scene.operator().approval('d', 'book')).votes).toEqual([]);
    expect(scene.counted).toEqual(['DecisionRecorded']);
    await scene.settle();
    expect((await scene.operator().run('a')).status).toBe('WAITING_FOR_SIGNAL');
  });

  it('are recorded once if the request is repeated', async () => {
    const scene = apiScene(await open());
    const json = { answer: 'reject', approvals: await waiting(scene, ['a', 'b']) };
    expect(summary((await scene.callApi(PATH, { json, as: bobInGroup })).json)).toEqual(['a: REJECTED', 'b: REJECTED']);
    const before = await scene.operator().approvals('a');
    expect(summary((await scene.callApi(PATH, { json, as: bobInGroup })).json)).toEqual([
      'a: REJECTED, as before',
      'b: REJECTED, as before',
    ]);
    expect(await scene.operator().approvals('a')).toEqual(before);
    expect(before).toMatchObject([{ votes: [{ by: 'user:bob', as: 'group:desk' }] }]);
  });
});

describe('a request that decides several approvals', () => {
  it('is for the person who calls, unless the caller may decide for others', async () => {
    const scene = apiScene();
    const json = { answer: 'approve', approvals: await waiting(scene, ['a']) };
    expect(await scene.callApi(PATH, { json: { ...json, by: 'user:ann' }, as: bob })).toMatchObject({ status: 403 });
    expect(await scene.callApi(PATH, { json, as: portal })).toMatchObject({ status: 403 });
    expect(await scene.callApi(PATH, { json, as: caller({ roles: ['operator', 'viewer'] }) })).toMatchObject({
      status: 403,
    });
    expect((await scene.operator().approval('a', 'book')).votes).toEqual([]);
    const forCleo = { ...json, by: 'user:cleo', groups: ['group:desk'] };
    expect(summary((await scene.callApi(PATH, { json: forCleo, as: portal })).json)).toEqual(['a: APPROVED']);
    expect((await scene.operator().approval('a', 'book')).votes).toMatchObject([{ by: 'user:cleo', as: 'group:desk' }]);
  });

  it('reveals and decides nothing that the caller is not an approver of', async () => {
    const scene = apiScene();
    const json = { answer: 'approve', approvals: await waiting(scene, ['a', 'b']) };
    const refused = await scene.callApi(PATH, { json, as: bob });
    expect(summary(refused.json)).toEqual(['a: 403 NOT_AN_APPROVER', 'b: 403 NOT_AN_APPROVER']);
    expect(refused.text).not.toMatch(/Book it|user:ann|desk/);
    for (const run of ['a', 'b']) expect((await scene.operator().approval(run, 'book')).votes).toEqual([]);
  });

  it('cannot reach approvals of another tenant, which look as if they did not exist', async () => {
    const scene = apiScene();
    const [theirs] = await waiting(scene, ['theirs'], 'other');
    const missing = { run: 'nobody', approval: 'book', contentHash: theirs?.contentHash };
    const answerTo = async (shown: object) =>
      (await scene.callApi(PATH, { json: { answer: 'approve', approvals: [shown] }, as: ann })).text;
    expect((await answerTo(theirs ?? {})).replaceAll('theirs', 'nobody')).toBe(await answerTo(missing));
    expect((await scene.operator('other').approval('theirs', 'book')).votes).toEqual([]);
  });

  it.each([
    ['no approvals', { approvals: [] }, 400, 'approvals: '],
    [
      '51 approvals',
      { approvals: Array.from({ length: 51 }, (_, i) => ({ run: `r${i}`, approval: 'book', contentHash: 'x' })) },
      400,
      'approvals: ',
    ],
    [
      'an approval twice',
      {
        approvals: [
          { run: 'a', approval: 'book', contentHash: 'x' },
          { run: 'a', approval: 'book', contentHash: 'y' },
        ],
      },
      400,
      'names each approval once',
    ],
    ['no hash', { approvals: [{ run: 'a', approval: 'book' }] }, 400, 'approvals/0/contentHash: '],
    [
      'an empty hash',
      { approvals: [{ run: 'a', approval: 'book', contentHash: '' }] },
      400,
      'approvals/0/contentHash: ',
    ],
    ['edits', { edits: {}, approvals: [{ run: 'a', approval: 'book', contentHash: 'x' }] }, 400, 'edits: is unknown'],
    [
      'edits of one item',
      { approvals: [{ run: 'a', approval: 'book', contentHash: 'x', edits: {} }] },
      400,
      'approvals/0/edits: is unknown',
    ],
    [
      'a long comment',
      { comment: 'x'.repeat(10_001), approvals: [{ run: 'a', approval: 'book', contentHash: 'x' }] },
      400,
      'comment: ',
    ],
    [
      '10,000 approvals',
      { approvals: Array.from({ length: 10_000 }, (_, i) => ({ run: `r${i}`, approval: 'book', contentHash: 'x' })) },
      413,
      'at most 262144 bytes',
    ],
  ])('is refused before anything is read with %s', async (_, json, status, detail) => {
    const { storage, calls } = counted(memoryStorage());
    const scene = apiScene(storage);
    await waiting(scene, ['a']);
    const before = { ...calls };
    const refused = await scene.callApi(PATH, { json: { answer: 'approve', ...json }, as: ann });
    expect([refused.status, refused.json.detail]).toEqual([status, expect.stringContaining(detail)]);
    expect(calls).toEqual(before);
  });

  it('has room for 50 of the longest ids and the longest comment', async () => {
    const scene = apiScene();
    const approvals = Array.from({ length: 50 }, (_, i) => ({
      run: `${i}`.padEnd(256, 'r'),
      approval: 'ä'.repeat(1000),
      contentHash: 'f'.repeat(200),
    }));
    const { status, json } = await scene.callApi(PATH, {
      json: { answer: 'approve', comment: '好'.repeat(10_000), approvals },
      as: ann,
    });
    expect(status).toBe(200);
    expect(
      new Set((json.results as readonly { problem: { status: number } }[]).map(({ problem }) => problem.status < 500)),
    ).toEqual(new Set([true]));
  });

  it('logs an internal failure of one item, whose problem has no details, and decides the others', async () => {
    const storage = memoryStorage();
    const failing = interceptCommits(storage, async (writes, commit) => {
      const puts = writes.flatMap((write) => ('put' in write ? write.put : []));
      const isVote = puts.some(({ partition, meta }) => partition.endsWith('/b') && meta?.includes('"APPROVED"'));
      if (isVote) throw new TypeError('secret detail');
      await commit();
    });
    const scene = apiScene(failing);
    const json = { answer: 'approve', approvals: await waiting(scene, ['a', 'b']) };
    const got = await scene.callApi(PATH, { json, as: ann });
    expect(summary(got.json)).toEqual(['a: APPROVED', 'b: 500 UNEXPECTED']);
    expect(got.text).not.toContain('secret');
    expect(scene.logged.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'error', message: 'A decision failed.', run: 'b', approval: 'book', error: 'TypeError' },
    ]);
  });
});

describe('the list of pending approvals', () => {
  it('can be limited to one kind', async () => {
    const scene = apiScene();
    await waiting(scene, ['a', 'b']);
    const count = async (query: string, as = ann) =>
      ((await scene.callApi(`/api/approvals?${query}`, { as })).json.approvals as unknown[]).length;
    const everything = caller({ roles: ['operator'] });
    for (const [query, expected] of [
      ['agent=trips&name=book', 2],
      ['agent=trips', 2],
      ['name=book', 2],
      ['agent=other', 0],
      ['name=pay', 0],
    ] as const) {
      expect([query, await count(query)]).toEqual([query, expected]);
      expect([query, await count(`all=true&${query}`, everything)]).toEqual([query, expected]);
    }
  });
});
