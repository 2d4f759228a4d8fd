import { describe, expect, it } from 'vitest';
import { PATHS } from '../../lambda/console/paths.ts';
import { agent, FatalError } from '../../lambda/index.ts';
import { caller, consoleScene } from './scene.ts';
import { textOf, unescaped } from './well-formed.ts';

/** A text that tries to break out into markup, an attribute or a script. */
const evil = (field: string): string =>
  `${field}</script></title></textarea></bdi><svg/onload=alert(1)>"'><img src=x onerror=alert(1)> \u202Eon`;

const hostile = agent({
  name: evil('agent'),
  state: {
    initial: (input: unknown) => ({
      [evil('key')]: evil('value'),
      link: 'javascript:alert(1)',
      input,
      messages: [
        { role: evil('role'), content: evil('message'), [evil('more')]: 1 },
        { role: 'constructor', text: evil('text') },
        {
          role: 'assistant',
          content: [{ type: 'text', text: evil('block') }, { toolUse: { name: evil('tool use') } }],
        },
      ],
    }),
  },
  async run(ctx) {
    await ctx.step(evil('step').slice(0, 200), () => ({ [evil('result key')]: evil('result') }), {
      model: { id: evil('model'), [evil('parameter')]: 1 },
    });
    await ctx.checkpoint(evil('name').slice(0, 60));
    await ctx.approval(evil('approval').slice(0, 60), {
      title: evil('title'),
      show: {
        [evil('show key')]: evil('shown'),
        lines: `${evil('line')}\n${evil('next line')}`,
        code: `const a = "${evil('code')}";\nlet b = 1;`,
        diff: `@@ -1 +1 @@\n-${evil('before')}\n+${evil('after')}`,
        rows: [{ [evil('column')]: evil('cell').slice(0, 100) }, { [evil('column')]: 2 }],
        file: ctx.payload('<script>', { type: evil('type'), digest: evil('digest') }),
        error: new RangeError(evil('message of an error')),
        map: new Map([[evil('map key'), evil('map value')]]),
        when: new Date(0),
      },
      facts: { [evil('fact')]: evil('fact value') },
      approvers: ['user:ann', `user:${evil('person')}`, `group:${evil('group')}`],
      quorum: 2,
      editable: true,
      timeout: { days: 1 },
    });
    await ctx.waitForSignal(evil('signal'));
    throw new FatalError(evil('error'));
  },
});

const RUN = evil('run').slice(0, 70);
const APPROVAL = evil('approval').slice(0, 60);

async function hostileScene() {
  const scene = consoleScene(hostile, {
    offered: [{ name: evil('agent'), example: evil('example'), description: evil('description') }],
  });
  await scene.start(evil('input'), { id: RUN, owner: evil('owner').slice(0, 60), tags: [evil('tag')] });
  const [approval] = await scene.operator.approvals(RUN);
  return { scene, id: approval?.id ?? '' };
}

/** Fails unless the stored values of these fields are on the page, in its text or attributes. */
const has = (page: string, ...fields: readonly string[]): void => {
  // Operation names escape slashes.
  const there = unescaped(page).replaceAll('%2F', '/');
  for (const field of fields) expect(there, field).toContain(`${field}</script></title></textarea></bdi>`);
};

describe('stored user text', () => {
  it('stays text on every page of a run', async () => {
    const { scene, id } = await hostileScene();
    const run = await scene.get(PATHS.run(RUN));
    expect(run.status).toBe(200);
    has(run.page, 'agent', 'owner', 'tag', 'step', 'input');
    expect(run.page).not.toContain('\u202E');
    const list = await scene.get(PATHS.runs);
    has(list.page, 'run', 'agent', 'owner', 'tag');
    const { version } = await scene.operator.run(RUN);
    for (let each = 1; each <= version; each++) {
      const { status, page } = await scene.get(PATHS.checkpoint(RUN, each));
      expect(status).toBe(200);
      if (each === version) has(page, 'key', 'value', 'role', 'message', 'block', 'tool use', 'result key');
    }
    const model = await scene.get(PATHS.checkpoint(RUN, 3));
    has(model.page, 'model', 'parameter');
    const pieces = await scene.get(`${PATHS.checkpoint(RUN, version)}?part=state&at=/messages`);
    has(pieces.page, 'message', 'more');
    for (const name of [
      'lineage',
      'approvals',
      'cancel',
      'retry',
      'signal',
      'rewind',
      'fork',
      'diff?before=1&after=3',
    ] as const)
      expect((await scene.get(`${PATHS.run(RUN)}/${name}`)).status, name).toBe(200);
    has((await scene.get(`${PATHS.run(RUN)}/approvals`)).page, 'title');
    has((await scene.get(`${PATHS.run(RUN)}/diff?before=1&after=3`)).page, 'key', 'value');
    has((await scene.get(`${PATHS.run(RUN)}/fork`)).page, 'run');
    expect(id).toBe(APPROVAL.replaceAll(/[%/#:[\]~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`));
  });

  it('stays text in approvals, decisions and rejected forms', async () => {
    const { scene, id } = await hostileScene();
    has((await scene.get(PATHS.inbox)).page, 'title', 'agent', 'run', 'person', 'group');
    const path = PATHS.approval(RUN, id);
    const pending = await scene.get(path);
    has(pending.page, 'title', 'show key', 'shown', 'line', 'next line', 'code', 'before', 'after', 'column', 'cell');
    has(
      pending.page,
      'type',
      'digest',
      'message of an error',
      'map key',
      'map value',
      'fact',
      'fact value',
      'person',
      'group',
    );
    const refused = await scene.post(path, { answer: 'approve', comment: evil('comment'), edits: evil('edits') });
    expect(refused.status).toBe(400);
    has(refused.page, 'comment', 'edits');
    const taken = await scene.post(path, {
      answer: 'approve',
      comment: evil('comment'),
      edits: JSON.stringify(evil('edits')),
    });
    expect(taken).toMatchObject({ status: 303, location: path });
    has((await scene.get(path)).page, 'comment', 'edits');
    const odd = await scene.post(path, { answer: evil('answer') });
    expect(odd.status).toBe(400);
  });

  it('stays text in forms, filters, URLs and errors', async () => {
    const { scene, id } = await hostileScene();
    has((await scene.get('/console/start')).page, 'agent', 'description', 'example');
    const form = {
      agent: evil('agent'),
      input: evil('given'),
      id: evil('id'),
      owner: evil('by'),
      tags: evil('labels'),
    };
    const refused = await scene.post('/console/start', { ...form, key: evil('key') });
    expect(refused.status).toBe(400);
    has(refused.page, 'given', 'id', 'by', 'labels');
    const filters = new URLSearchParams({
      id: evil('id'),
      agent: evil('who'),
      owner: evil('by'),
      tag: evil('label'),
      from: evil('from'),
    });
    const none = await scene.get(`/console/runs?${filters}`);
    expect(none.status).toBe(200);
    has(none.page, 'id', 'who', 'by', 'label');
    const missing = await scene.get(PATHS.run(evil('nobody').slice(0, 70)));
    expect(missing.status).toBe(404);
    has(missing.page, 'nobody');
    const wrongPiece = await scene.get(`${PATHS.checkpoint(RUN, 1)}?part=state&at=/${encodeURIComponent(evil('at'))}`);
    expect(wrongPiece.status).toBe(404);
    const other = await scene.get(
      `/console/inbox?as=${encodeURIComponent(evil('user:x'))}&groups=${encodeURIComponent(evil('group:y'))}`,
      caller({ decidesForOthers: true }),
    );
    expect(other.status).toBe(200);
    await scene.post(`${PATHS.approval(RUN, id)}/withdraw`, { reason: evil('why') });
    has((await scene.get(PATHS.approval(RUN, id))).page, 'why');
  });

  it('stays text in the changes for an open page', async () => {
    const { scene } = await hostileScene();
    const list = await scene.get('/console/changes?since=0&counted=0');
    expect(list.status).toBe(200);
    has(list.page, 'run', 'owner', 'tag');
    const run = await scene.get(`${PATHS.run(RUN)}/changes?version=1&status=READY&first=1`);
    expect(run.status).toBe(200);
    has(run.page, 'step', 'agent');
    const waiting = await scene.get('/console/inbox/changes?since=0&as=everybody');
    has(waiting.page, 'title');
  });
});

describe('an id in a path', () => {
  it.each(['..', '.', 'a/b', '%2F', 'a?b#c', '~x', 'changes', 'é 😀', '%', 'a\\b'])(
    'leads to the run %j',
    async (id) => {
      const scene = consoleScene(agent({ name: 'plain', run: async () => 'done' }));
      await scene.start(undefined, { id });
      const list = await scene.get(PATHS.runs);
      const [, href = ''] = /<a class="id" href="([^"]+)"/.exec(list.page) ?? [];
      const { status, page } = await scene.get(new URL(href, 'http://localhost').pathname);
      expect(status).toBe(200);
      expect(textOf(page)).toContain(`Runs ${id}`);
    },
  );
});
