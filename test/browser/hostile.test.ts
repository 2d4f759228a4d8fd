import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { payload } from '../../lambda/checkpoints/payload.ts';
import { checkpointStore } from '../../lambda/embedded.ts';
import { encodePathId } from '../../lambda/http/path-id.ts';
import { hostile, hostileHtml, hostileId, hostileSvg, hostileUrl, planted } from './hostile-texts.ts';
import { agentFile, createScene, POLL_OPTIONS } from './scene.ts';
import { watch } from './watched.ts';

// Each text tries to become markup, an attribute, a script, a template or an executable URL. The tests of this file build
// on one another: a run goes from its start to its end, then every page about it is checked.
const scene = createScene([agentFile('hostile')]);
const AGENT = hostileId('agent');
const RUN = hostileId('run');
const SAVED = hostileId('saved');
const apiOf = (run: string) => `/api/runs/${encodePathId(run)}`;
const pageOf = (run: string) => `/console/runs/${encodePathId(run)}`;

/** The whole text of a page, with collapsed and lazily loaded parts. */
async function textOf(page: Page): Promise<string> {
  await expect.poll(() => page.locator('[data-load], [aria-busy]').count(), POLL_OPTIONS).toBe(0);
  await page.evaluate(`document.querySelectorAll('details').forEach((details) => { details.open = true; })`);
  return page.locator('body').innerText();
}

/** The texts that are not on the page as stored. */
const missing = (words: string, texts: readonly string[]): string[] => texts.filter((text) => !words.includes(text));

/** A window that is taller than any page, so that all of its parts are loaded. */
const TALL = { viewport: { width: 1280, height: 8000 } };

const ended = async (run: string) => (await scene.api(apiOf(run))).json.status;

describe('stored hostile text', () => {
  it('stays text on the page of a link, before and after the decision, and in an open list', async () => {
    const list = await scene.open('/console/inbox', TALL);
    await scene.start(
      AGENT,
      { [hostile('input')]: hostile('input value') },
      { id: RUN, owner: hostileId('owner'), tags: [hostileId('tag')] },
    );
    const page = await scene.openLink(await scene.link(''), TALL);
    const shown = ['title', 'show key', 'show value', 'column', 'cell', 'code', 'diff', 'before', 'after'];
    const facts = ['fact', 'fact value', 'page digest'];
    const urls = ['show url', 'markdown', 'fact url'].map(hostileUrl);
    const ids = ['run', 'agent', 'language', 'type', 'approver', 'group'].map(hostileId);
    expect(missing(await textOf(page), [...[...shown, ...facts].map(hostile), ...urls, ...ids])).toEqual([]);
    expect(await planted(page)).toEqual([]);
    expect(await page.title()).toContain(hostile('title'));
    await list.getByText(hostile('title')).waitFor();
    expect(await planted(list)).toEqual([]);

    await page.getByLabel('Comment').fill(hostile('comment'));
    await page.getByLabel(/\(JSON\)/).fill(JSON.stringify({ [hostile('edit')]: hostile('edit value') }));
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByText('Approved').first().waitFor();
    expect(missing(await textOf(page), ['comment', 'edit', 'edit value'].map(hostile))).toEqual([]);
    expect(await planted(page)).toEqual([]);
  });

  it('stays text in the error of a rejected form', async () => {
    await scene.start(AGENT, {}, { id: hostileId('other') });
    const page = await scene.openLink(await scene.link('', 'user:ann', 2), { ...TALL, refusals: [400] });
    await page.evaluate(`document.querySelectorAll('textarea').forEach((area) => area.classList.remove('json'))`);
    await page.getByLabel('Comment').fill(hostile('refused comment'));
    await textOf(page);
    await page.getByLabel(/\(JSON\)/).fill(hostile('refused edit'));
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByLabel('Comment').inputValue()).toBe(hostile('refused comment'));
    expect(await page.getByLabel(/\(JSON\)/).inputValue()).toBe(hostile('refused edit'));
    expect(await planted(page)).toEqual([]);
  });

  it('is never opened by a browser as the type that it claims', async () => {
    const link = await scene.link('', 'user:ann', 2);
    const page = await scene.openLink(link, TALL);
    await textOf(page);
    const urls: string[] = await page.evaluate(
      `[...document.querySelectorAll('[href*="/payloads/"], [src*="/payloads/"]')].map((element) => element.href ?? element.src)`,
    );
    expect(new Set(urls).size).toBe(4);
    const { context, problems } = await watch(scene.browser);
    onTestFinished(() => context.close());
    for (const url of new Set(urls)) {
      const { headers } = await fetch(url);
      expect(headers.get('content-type')).toMatch(/^(application\/octet-stream|image\/png)$/);
      expect(headers.get('content-security-policy')).toMatch(/sandbox/);
      expect([headers.get('x-content-type-options'), headers.get('x-planted')]).toEqual(['nosniff', null]);
      const loaded = await context.newPage();
      // The browser downloads the file instead of opening it as a page.
      await loaded.goto(url).catch((error) => expect(String(error)).toMatch(/Download is starting/));
      await loaded.close();
    }
    // When the browser draws an image, its console reports what the policy blocks.
    expect(problems.filter((problem) => !problem.startsWith('The console says: '))).toEqual([]);
  });

  it('stays text on every console page that a run links to', async () => {
    const store = checkpointStore({ folder: scene.server.folder, writer: hostileId('writer') });
    onTestFinished(() => store.close());
    const { version } = await store.save({
      run: SAVED,
      agent: AGENT,
      owner: hostileId('owner'),
      tags: [hostileId('tag')],
      step: hostile('saved step'),
      name: hostileId('name'),
      labels: { [hostile('label')]: hostile('label value') },
      model: { id: hostile('model'), [hostile('parameter')]: hostileUrl('parameter value') },
      toolResults: { [hostile('result')]: hostile('result value') },
      state: {
        [hostile('saved key')]: hostile('saved value'),
        page: payload(hostileHtml('saved page'), { type: 'text/html', digest: hostile('saved digest') }),
        drawing: payload(hostileSvg('saved drawing'), { type: 'image/svg+xml' }),
        picture: payload(hostileSvg('saved picture'), { type: hostileId('image/png') }),
      },
    });
    await store.save({ run: SAVED, expectedVersion: version, state: { [hostile('saved key')]: hostile('new value') } });
    await store.fork(SAVED, { version, id: hostileId('fork') });
    await scene.api(`${apiOf(RUN)}/signals`, {
      method: 'POST',
      body: { name: hostileId('signal'), value: hostile('signal value') },
    });
    await expect.poll(() => ended(RUN), POLL_OPTIONS).toBe('FAILED');
    const other = apiOf(hostileId('other'));
    const { approvals } = (await scene.api(`${other}/approvals`)).json as { approvals: { id: string }[] };
    const withdraw = `${other}/approvals/${encodePathId(approvals[0]?.id ?? '')}/withdraw`;
    expect((await scene.api(withdraw, { method: 'POST', body: { reason: hostile('why') } })).status).toBe(200);
    await scene.api(`${other}/cancel`, { method: 'POST', body: { reason: hostile('reason') } });
    await expect.poll(() => ended(hostileId('other')), POLL_OPTIONS).toBe('CANCELLED');

    const page = await scene.open('/console', { ...TALL, refusals: [404, 400] });
    const seen = new Set<string>();
    const next = ['/console', ...[RUN, SAVED, hostileId('other'), hostileId('fork')].map(pageOf)];
    let words = '';
    for (let path = next.shift(); path !== undefined && seen.size < 80; path = next.shift()) {
      if (seen.has(path)) continue;
      seen.add(path);
      await page.goto(scene.server.url + path);
      words += `${await textOf(page)}\n${await valuesOf(page)}\n`;
      expect([path, await planted(page)]).toEqual([path, []]);
      next.push(...(await linksOf(page)));
    }
    const texts = [
      'input',
      'input value',
      'state key',
      'state value',
      'role',
      'message',
      'part',
      'converse',
      'tool use',
      'tool input',
      'step result',
      'digest',
      'added key',
      'added value',
      'title',
      'show key',
      'comment',
      'edit value',
      'reason',
      'why',
      'signal value',
      'saved step',
      'label',
      'label value',
      'model',
      'parameter',
      'result',
      'result value',
      'saved key',
      'saved value',
      'new value',
      'saved digest',
    ].map(hostile);
    const ids = [
      'run',
      'agent',
      'owner',
      'tag',
      'step',
      'tool',
      'checkpoint',
      'signal',
      'saved',
      'fork',
      'other',
      'name',
      'writer',
      'image/png',
    ].map(hostileId);
    const others = [
      hostileUrl('state url'),
      hostileUrl('parameter value'),
      hostile(`error after ${hostile('comment')}`),
    ];
    expect(missing(words, [...texts, ...ids, ...others])).toEqual([]);
  });

  it('stays text when it is part of a URL', async () => {
    const page = await scene.open('/console', { refusals: [400, 404, 410] });
    const text = encodeURIComponent(hostile('address'));
    const id = encodeURIComponent(hostileId('address'));
    for (const path of [
      `/console/runs?agent=${text}&owner=${text}&tag=${text}&id=${text}`,
      `/console/runs?status=${text}&period=${text}&from=${text}&to=${text}`,
      `/console/runs?cursor=${text}`,
      `/console/inbox?as=${id}&groups=group:${id}`,
      `/console/start?agent=${text}`,
      `${pageOf(RUN)}?done=${text}&to=${text}`,
      `${pageOf(RUN)}/signal?name=${text}&value=${text}&id=${text}`,
      `${pageOf(RUN)}/cancel?reason=${text}`,
      `${pageOf(RUN)}/fork?state=${text}&results=${text}&id=${text}&tags=${text}&version=${text}`,
      `${pageOf(RUN)}/checkpoints/1?part=state&at=${text}`,
      `${pageOf(RUN)}/diff?before=${text}&after=1`,
      ...[`/console/${text}`, `/console/runs/${text}`, `/approvals/${text}`, `/${text}`],
    ]) {
      await page.goto(scene.server.url + path);
      expect([path, await planted(page)]).toEqual([path, []]);
    }
  });
});

/** The values of the form fields of a page. */
const valuesOf = (page: Page): Promise<string> =>
  page.evaluate(`[...document.querySelectorAll('input, textarea')].map((field) => field.value).join('\\n')`);

/** The console pages that a page links to; only one of the forms that are the same for each checkpoint. */
const linksOf = (page: Page): Promise<string[]> =>
  page.evaluate(
    `[...document.querySelectorAll('a[href^="/console"]')].map((link) => link.getAttribute('href').replace(/#.*/, ''))
      .filter((path) => !/\\/(fork|rewind)\\?version=(?!1$)/.test(path))`,
  );
