import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launch } from './browser.ts';
import { accessibilityViolations, overflowingElements } from './looks.ts';
import { type WatchOptions, watch } from './watched.ts';

// What the other tests of this folder trust in: that a page with something wrong is found out.
let browser: Browser | undefined;
beforeAll(async () => {
  browser = await launch();
}, 120_000);
afterAll(() => browser?.close());

async function served(html: string, policy: string, options: WatchOptions = {}) {
  if (!browser) throw new Error('There is a browser before the first test.');
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/' ? 200 : 409, {
      'content-type': 'text/html',
      'content-security-policy': policy,
    });
    response.end(`<!doctype html><html lang="en"><title>A page</title><main><h1>A page</h1>${html}</main>`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { context, wrongs } = await watch(browser, options);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const { port } = server.address() as AddressInfo;
  await page.goto(`http://127.0.0.1:${port}/`, { waitUntil: 'load' });
  return { page, wrongs };
}

const LOOSE = "script-src 'unsafe-inline'";
const STRICT = "default-src 'self'; script-src 'self'";

describe('a watched page', () => {
  it.each([
    ['a stored text that runs', '<img src=/x onerror="__xss(\'image\')">', /ran as a script: image/],
    ['a dialog', '<script>alert("hello")</script>', /dialog loaded: hello/],
    ['an error', '<script>throw new Error("broken")</script>', /threw: broken/],
    ['a complaint', '<script>console.error("odd")</script>', /console says: odd/],
    ['a request to another machine', '<img src="http://example.com/pixel.png" alt="">', /left this machine/],
    [
      'a referrer that is a secret',
      '<script>fetch("/approvals/x", { referrer: "/approvals/y" })</script>',
      /came from/,
    ],
  ])('tells of %s', async (_, html, told) => {
    const { wrongs } = await served(html, LOOSE);
    await expect.poll(() => wrongs.join('\n'), { timeout: 20_000 }).toMatch(told);
  });

  it('tells what its policy had to stop, though nothing ran', async () => {
    const { wrongs } = await served('<script>__xss(1)</script>', STRICT);
    await expect.poll(() => wrongs.join('\n'), { timeout: 20_000 }).toMatch(/The policy stopped script-src/);
    expect(wrongs.join('\n')).not.toMatch(/ran as a script/);
  });

  it('is left in peace where nothing is wrong, and where a refusal was asked for', async () => {
    const { page, wrongs } = await served('<p>Fine.</p>', STRICT, { refusals: [409] });
    await page.goto(`${page.url()}other`);
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(resolve))');
    expect(wrongs).toEqual([]);
  });
});

describe('the look of a page', () => {
  it('has barriers where a field has no label, under a strict policy too', async () => {
    const { page } = await served('<input><button>Go</button>', STRICT);
    expect(await accessibilityViolations(page)).toEqual([expect.stringContaining('<input>')]);
  });

  it.each([
    ['sticks out where something is wider than the window', '', /wider than 360: .*<pre>/s],
    ['is cut off where that is hidden', ' class="unwrapped"', /^cut off: <pre/],
  ])('%s', async (_, attributes, told) => {
    const { page } = await served(`<p>short</p><pre${attributes}>${'long'.repeat(100)}</pre>`, STRICT, {
      viewport: { width: 360, height: 740 },
    });
    await page.evaluate(`document.querySelector('.unwrapped')?.style.setProperty('overflow', 'hidden')`);
    expect((await overflowingElements(page)).join('\n')).toMatch(told);
  });
});
