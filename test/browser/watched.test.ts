import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launch } from './browser.ts';
import { accessibilityViolations, overflowingElements } from './looks.ts';
import { type WatchOptions, watch } from './watched.ts';

// The other tests of this folder rely on this: problems on a page are detected.
let browser: Browser | undefined;
beforeAll(async () => {
  browser = await launch();
}, 120_000);
afterAll(() => browser?.close());

async function served(html: string, policy: string, options: WatchOptions = {}) {
  if (!browser) throw new Error('The browser must be launched before the first test.');
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/' ? 200 : 409, {
      'content-type': 'text/html',
      'content-security-policy': policy,
    });
    response.end(`<!doctype html><html lang="en"><title>A page</title><main><h1>A page</h1>${html}</main>`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { context, problems } = await watch(browser, options);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const { port } = server.address() as AddressInfo;
  await page.goto(`http://127.0.0.1:${port}/`, { waitUntil: 'load' });
  return { page, problems };
}

const LOOSE = "script-src 'unsafe-inline'";
const STRICT = "default-src 'self'; script-src 'self'";

describe('a watched page', () => {
  it.each([
    ['stored text that runs as a script', '<img src=/x onerror="__xss(\'image\')">', /ran as a script: image/],
    ['a dialog', '<script>alert("hello")</script>', /dialog loaded: hello/],
    ['an error', '<script>throw new Error("broken")</script>', /threw: broken/],
    ['a console error', '<script>console.error("odd")</script>', /console says: odd/],
    ['a request to another machine', '<img src="http://example.com/pixel.png" alt="">', /left this machine/],
    [
      'a referrer that contains a secret',
      '<script>fetch("/approvals/x", { referrer: "/approvals/y" })</script>',
      /came from/,
    ],
  ])('reports %s', async (_, html, expected) => {
    const { problems } = await served(html, LOOSE);
    await expect.poll(() => problems.join('\n'), { timeout: 20_000 }).toMatch(expected);
  });

  it('reports what its content security policy blocked, although nothing ran', async () => {
    const { problems } = await served('<script>__xss(1)</script>', STRICT);
    await expect.poll(() => problems.join('\n'), { timeout: 20_000 }).toMatch(/The policy stopped script-src/);
    expect(problems.join('\n')).not.toMatch(/ran as a script/);
  });

  it('reports nothing if nothing is wrong or the error was expected', async () => {
    const { page, problems } = await served('<p>Fine.</p>', STRICT, { refusals: [409] });
    await page.goto(`${page.url()}other`);
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(resolve))');
    expect(problems).toEqual([]);
  });
});

describe('the layout of a page', () => {
  it('is reported as inaccessible if a field has no label, even under a strict policy', async () => {
    const { page } = await served('<input><button>Go</button>', STRICT);
    expect(await accessibilityViolations(page)).toEqual([expect.stringContaining('<input>')]);
  });

  it.each([
    ['is reported as overflowing if an element is wider than the window', '', /wider than 360: .*<pre>/s],
    ['is reported as cut off if the overflow is hidden', ' class="unwrapped"', /^cut off: <pre/],
  ])('%s', async (_, attributes, expected) => {
    const { page } = await served(`<p>short</p><pre${attributes}>${'long'.repeat(100)}</pre>`, STRICT, {
      viewport: { width: 360, height: 740 },
    });
    await page.evaluate(`document.querySelector('.unwrapped')?.style.setProperty('overflow', 'hidden')`);
    expect((await overflowingElements(page)).join('\n')).toMatch(expected);
  });
});
