import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { describeOnEachStorage } from '../runtime/storages.ts';
import { tamperedTokens } from './tampered-tokens.ts';
import { DAY, type TokenResponse, type TokenScene, tokenScene } from './token-scene.ts';

const UNKNOWN = randomBytes(32).toString('base64url');

describeOnEachStorage('the token of an approval link', (open) => {
  const loaded = async (): Promise<TokenScene> => tokenScene(await open());

  /** The response to every use of a token. */
  const responsesTo = async (scene: TokenScene, token: string): Promise<readonly TokenResponse[]> => {
    const responses: TokenResponse[] = [];
    for (const use of USES) responses.push(await use(scene, token));
    return responses;
  };

  /** Expects that every use of a token gets exactly the response of an unknown token. */
  async function expectUnknown(scene: TokenScene, token: string): Promise<void> {
    const known = await responsesTo(scene, UNKNOWN);
    expect(new Set(known.map(({ status }) => status))).toEqual(new Set([404]));
    expect(await responsesTo(scene, token), token).toEqual(known);
  }

  it('gets the same response after the same storage request if it is guessed, cut, extended or changed', async () => {
    const scene = await loaded();
    await scene.start('bill 1');
    const token = await scene.link('bill 1');
    const known = await responsesTo(scene, UNKNOWN);
    expect(new Set(known.map(({ status }) => status))).toEqual(new Set([404]));
    const one = { read: 1, range: 0, list: 0, commit: 0 };
    for (const tampered of tamperedTokens(token))
      for (const [i, use] of USES.entries()) {
        let response: TokenResponse | undefined;
        const requests = await scene.requestsOf(async () => {
          response = await use(scene, tampered);
        });
        // One comparison of everything: `expect` takes longer than the request.
        if (response?.whole !== known[i]?.whole || !isDeepStrictEqual(requests, one))
          expect({ tampered, response, requests }).toEqual({ tampered, response: known[i], requests: one });
      }
    expect(await scene.record('bill 1')).toMatchObject({ status: 'PENDING', votes: [] });
  });

  it('gives access to nothing under other paths', async () => {
    const scene = await loaded();
    await scene.start('bill 1');
    const token = await scene.link('bill 1');
    const paths = [
      ...[`/approvals/${token}/`, `/approvals//${token}`, `/approvals/x/${token}`, `/approvals/assets/${token}`],
      ...[
        `/approvals/${token}/payloads`,
        `/approvals/${token}/payloads/`,
        `/approvals/${token}/pay`,
        `/approvals/${token}%2F`,
      ],
      ...[
        `/Approvals/${token}`,
        `/approvals;/${token}`,
        `/approvals/.%2F${token}`,
        `/approvals?token=${token}`,
        `/${token}`,
      ],
    ];
    for (const path of paths) {
      expect(await scene.request(path), path).toMatchObject({ status: 404 });
      expect(await scene.request(path, approval()), path).toMatchObject({ status: 404 });
    }
    expect(await scene.record('bill 1')).toMatchObject({ status: 'PENDING', votes: [] });
  });

  it('returns the recorded decision if the same one is repeated, and refuses another one', async () => {
    const scene = await loaded();
    await scene.start('bill 1');
    const token = await scene.link('bill 1');
    expect(await scene.answer(token, 'approve', { comment: 'first' })).toMatchObject({ status: 200 });
    await scene.settle();
    const recorded = await scene.record('bill 1');
    for (const more of [{}, { comment: 'second' }]) {
      const { status, approval: returned } = await scene.answer(token, 'approve', more);
      expect({ status, returned }).toEqual({ status: 200, returned: JSON.parse(JSON.stringify(recorded)) });
      expect(await scene.answer(token, 'reject', more)).toMatchObject({ status: 409, code: 'APPROVAL_DECIDED' });
    }
    // The same answer with changes is another decision.
    const changed = await scene.answer(token, 'approve', { edits: { price: 0 } });
    expect(changed).toMatchObject({ status: 409, code: 'APPROVAL_DECIDED' });
    expect(await scene.submit(token, 'approve')).toMatchObject({ status: 303 });
    expect(await scene.submit(token, 'reject')).toMatchObject({ status: 409 });
    await scene.settle();
    expect(await scene.record('bill 1')).toEqual(recorded);
    expect(scene.paid).toEqual(new Map([['bill 1', 1]]));
  });

  it('decides only for its own person and approval, whatever the body contains', async () => {
    const scene = await loaded();
    for (const run of ['bill 1', 'bill 2']) await scene.start(run, { quorum: 2 });
    const ann = await scene.link('bill 1', 'user:ann');
    const others = [
      ...[
        { by: 'user:bob' },
        { person: 'user:bob' },
        { groups: ['group:all'] },
        { as: 'group:all' },
        { tenant: 'south' },
      ],
      ...[
        { approval: 'pay' },
        { run: 'bill 2' },
        { token: UNKNOWN },
        { votes: [1] },
        { status: 'APPROVED' },
        { quorum: 1 },
      ],
    ];
    for (const other of others) {
      expect(await scene.answer(ann, 'approve', other)).toMatchObject({ status: 400, code: 'INVALID_INPUT' });
      const form = new URLSearchParams({
        answer: 'approve',
        ...Object.fromEntries(Object.entries(other).map(([k, v]) => [k, String(v)])),
      });
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      expect(
        await scene.request(`/approvals/${ann}`, { method: 'POST', headers, body: form.toString() }),
      ).toMatchObject({ status: 400 });
    }
    expect(await scene.request(`/approvals/${ann}?by=user:bob`, approval())).toMatchObject({ status: 400 });
    const { contentHash } = await scene.record('bill 2');
    expect(await scene.answer(ann, 'approve', { contentHash })).toMatchObject({
      status: 409,
      code: 'APPROVAL_CHANGED',
    });
    expect(await scene.record('bill 1')).toMatchObject({ status: 'PENDING', votes: [] });

    // Two links of the same person give one vote.
    for (const token of [ann, ann, await scene.link('bill 1', 'user:ann')])
      expect(await scene.answer(token, 'approve')).toMatchObject({ status: 200, approval: { status: 'PENDING' } });
    expect((await scene.record('bill 1')).votes.map(({ by }) => by)).toEqual(['user:ann']);
    expect(await scene.record('bill 2')).toMatchObject({ status: 'PENDING', votes: [] });
    // A person who is not an approver cannot vote, even with a link.
    const eve = await scene.link('bill 1', 'user:eve');
    expect(await scene.answer(eve, 'approve')).toMatchObject({ status: 403, code: 'NOT_AN_APPROVER' });
    expect(await scene.answer(await scene.link('bill 1', 'user:bob'), 'approve')).toMatchObject({ status: 200 });
    await scene.settle();
    expect(scene.paid).toEqual(new Map([['bill 1', 1]]));
  });

  it('serves only the payloads of its own approval', async () => {
    const scene = await loaded();
    for (const run of ['bill 1', 'bill 2']) await scene.start(run);
    const [one, two] = [await scene.link('bill 1'), await scene.link('bill 2')];
    const payloadOf = async (run: string) => /"payload","([^"]+)"/.exec(JSON.stringify(await scene.record(run)))?.[1];
    const [first, second] = [await payloadOf('bill 1'), await payloadOf('bill 2')];
    expect((await scene.request(`/approvals/${one}/payloads/${first}`)).whole).toMatch(/\nbill of bill 1$/);
    const unknown = await scene.request(`/approvals/${UNKNOWN}/payloads/${first}`);
    for (const path of [
      `${one}/payloads/${second}`,
      `${two}/payloads/${first}`,
      `${one}/payloads/..`,
      `${one}/payloads/${first}x`,
    ])
      expect(await scene.request(`/approvals/${path}`), path).toMatchObject({ status: 404 });
    expect((await scene.request(`/approvals/${one}/payloads/${second}`)).whole).toBe(unknown.whole);
  });

  it('cannot decide at the deadline or later, and still shows the outcome', async () => {
    const scene = await loaded();
    for (const run of ['bill 1', 'bill 2']) await scene.start(run);
    const [late, inTime] = [await scene.link('bill 1'), await scene.link('bill 2')];
    const { deadline } = await scene.record('bill 1');
    scene.clock.moveTo(Number(deadline) - 1);
    expect(await scene.answer(inTime, 'approve')).toMatchObject({ status: 200 });
    scene.clock.moveTo(Number(deadline));
    for (const answer of ['approve', 'reject', 'approve'])
      expect(await scene.answer(late, answer)).toMatchObject({ status: 410, code: 'APPROVAL_EXPIRED' });
    expect(await scene.submit(late, 'approve')).toMatchObject({ status: 410 });
    expect(await scene.look(late)).toMatchObject({ status: 200, approval: { status: 'EXPIRED', votes: [] } });
    expect(await scene.answer(inTime, 'approve')).toMatchObject({ status: 200, approval: { status: 'APPROVED' } });
    await scene.settle();
    expect(scene.paid).toEqual(new Map([['bill 2', 1]]));
  });

  it('is refused as APPROVAL_WITHDRAWN after a withdrawal or a cancel', async () => {
    const scene = await loaded();
    for (const run of ['withdrawn', 'cancelled']) await scene.start(run);
    const [withdrawn, cancelled] = [await scene.link('withdrawn'), await scene.link('cancelled')];
    await scene.operator.withdraw('withdrawn', 'pay', 'not needed');
    await scene.operator.cancel('cancelled');
    await scene.settle();
    for (const token of [withdrawn, cancelled]) {
      for (const answer of ['approve', 'reject'])
        expect(await scene.answer(token, answer)).toMatchObject({ status: 410, code: 'APPROVAL_WITHDRAWN' });
      expect(await scene.look(token)).toMatchObject({ status: 200, approval: { status: 'WITHDRAWN', votes: [] } });
    }
    expect(scene.paid.size).toBe(0);
  });

  it('gets the same response as an unknown token if it has expired, was revoked, or its run is gone', async () => {
    const scene = await loaded();
    for (const run of ['bill 1', 'bill 2']) await scene.start(run);
    const [short, revoked, of] = [
      await scene.link('bill 1', 'user:ann', 0.5),
      await scene.link('bill 1'),
      await scene.link('bill 2'),
    ];
    await scene.revoke(revoked);
    await expectUnknown(scene, revoked);
    scene.clock.moveTo(scene.clock.now() + DAY / 2);
    await expectUnknown(scene, short);
    await scene.store.delete('bill 2');
    await expectUnknown(scene, of);

    // A new run under the same id is another run.
    scene.clock.moveTo(scene.clock.now() + 2 * DAY);
    for (let sweep = 0; sweep < 3; sweep++) {
      await scene.sweep();
      scene.clock.moveTo(scene.clock.now() + DAY / 12);
    }
    await scene.start('bill 2');
    await expectUnknown(scene, of);
    expect(await scene.record('bill 2')).toMatchObject({ status: 'PENDING', votes: [] });
    expect(await scene.answer(await scene.link('bill 2'), 'approve')).toMatchObject({ status: 200 });
    await scene.settle();
    expect(scene.paid).toEqual(new Map([['bill 2', 1]]));
  });

  it('is never logged', async () => {
    const scene = await loaded();
    await scene.start('bill 1');
    const token = await scene.link('bill 1');
    const tampered = tamperedTokens(token).slice(0, 5);
    for (const each of [...tampered, token]) for (const use of USES) await use(scene, each);
    for (const method of ['PUT', 'DELETE', 'OPTIONS']) await scene.request(`/approvals/${token}`, { method });
    await scene.request(`/api/runs/${token}`);
    await scene.request(`/approvals/${token}?token=${token}`);
    await scene.answer(token, token);
    await scene.answer(token, 'approve', { contentHash: token });
    expect(scene.logged.length).toBeGreaterThan(10);
    expect(
      scene.logged.filter((line) => [token, ...tampered].some((each) => line.includes(each.slice(0, 20)))),
    ).toEqual([]);
  });
});

type Use = (scene: TokenScene, token: string) => ReturnType<TokenScene['look']>;

/** Every way to use a token. */
const USES: readonly Use[] = [
  (scene, token) => scene.look(token),
  (scene, token) => scene.request(`/approvals/${token}`, { headers: { accept: 'text/html' } }),
  (scene, token) => scene.answer(token, 'approve'),
  (scene, token) => scene.answer(token, 'reject', { comment: 'no', edits: { a: 1 }, contentHash: 'x' }),
  (scene, token) => scene.submit(token, 'approve'),
  (scene, token) => scene.request(`/approvals/${token}/payloads/x`),
];

const approval = () => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"answer":"approve"}',
});
