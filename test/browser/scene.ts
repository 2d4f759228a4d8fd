import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, vi } from 'vitest';
import { ROOT } from '../../build/package-entries.ts';
import type { LocalServer, serve } from '../../cli/dev/server/serve.ts';
import { render } from '../../cli/terminal/line.ts';
import { bundledProgram } from '../bundled-program.ts';
import { launch } from './browser.ts';
import { type WatchOptions, watch } from './watched.ts';

/** How long a condition may take: agent processes start slowly on a busy machine. */
export const POLL_OPTIONS = { timeout: 60_000, interval: 100 };

// Pages ask for changes every two seconds, and less often while nothing changes; tests do not wait that long.
const FAST_TIMERS = `{
  const { setTimeout } = window;
  window.setTimeout = (call, delay, ...args) => setTimeout(call, delay / 10, ...args);
}`;

/** A browser, and the local server with agents that really run, for one file of tests. */
export interface Scene {
  readonly browser: Browser;
  readonly server: LocalServer;
  /** Opens a page of the console in its own browser context; any problem on the page fails the test at its end. */
  open(path: string, options?: WatchOptions): Promise<Page>;
  /** Opens a page without access to the console. */
  openLink(url: string, options?: WatchOptions): Promise<Page>;
  /** Starts a run through the API. */
  start(
    agent: string,
    input: unknown,
    options?: { readonly id?: string } & Readonly<Record<string, unknown>>,
  ): Promise<string>;
  /** Waits for the approval link of a person. `request` 2 is the follow-up request. */
  link(run: string, person?: string, request?: number): Promise<string>;
  /** Waits until a run has a status. */
  until(run: string, status: string): Promise<void>;
  /** Calls the API with the key of the server. */
  api(path: string, init?: { readonly method?: string; readonly body?: unknown }): Promise<ApiResponse>;
}

interface ApiResponse {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

/** Starts a browser and a server for a file of tests. */
export function createScene(files: readonly string[]): Scene {
  let browser: Browser | undefined;
  let server: LocalServer | undefined;
  const output: string[] = [];
  let project: string | undefined;

  beforeAll(async () => {
    browser = await launch();
    project = createProject();
    // From the bundle, agent processes start several times faster than from the sources.
    const bundled: { readonly serve: typeof serve } = await import(await bundledProgram('cli/dev/server/serve'));
    server = await bundled.serve({
      files: files.map((file) => join(project ?? '', file)),
      folder: join(project, '.waitstate'),
      watch: false,
      print: (line) => void output.push(render(line, (_, text) => text)),
      timing: { pollIntervalMs: 50, sweepIntervalMs: 200, crashBackoffMs: 50 },
    });
    await server.ready;
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
    if (project !== undefined) rmSync(project, { recursive: true, force: true });
  }, 60_000);

  const ready = <T>(thing: T | undefined): T => {
    if (thing === undefined) throw new Error('The scene is ready in tests and hooks, not while tests are collected.');
    return thing;
  };

  async function openPage(options: WatchOptions): Promise<Page> {
    const { context, problems } = await watch(ready(browser), options);
    await context.addInitScript(FAST_TIMERS);
    onTestFinished(async () => {
      await context.close();
      expect(problems).toEqual([]);
    });
    return context.newPage();
  }

  async function api(
    path: string,
    { method = 'GET', body }: { method?: string; body?: unknown } = {},
  ): Promise<ApiResponse> {
    const { url, key } = ready(server);
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, json: text === '' ? {} : JSON.parse(text) };
  }

  const scene: Scene = {
    get browser() {
      return ready(browser);
    },
    get server() {
      return ready(server);
    },
    async open(path, options = {}) {
      const page = await openPage(options);
      // Sets the cookie of the console; without it, each test would draw one more page.
      await page.context().request.get(ready(server).keyedUrl, { maxRedirects: 0 });
      await page.goto(ready(server).url + path);
      return page;
    },
    async openLink(url, options = {}) {
      const page = await openPage(options);
      await page.goto(url);
      return page;
    },
    async start(agent, input, options = {}) {
      const { status, json } = await api('/api/runs', { method: 'POST', body: { agent, input, ...options } });
      expect({ status, json }).toMatchObject({ status: 201 });
      return String(json.run);
    },
    link: (run, person = 'user:ann', request = 1) =>
      vi.waitFor(() => {
        const requests = output.flatMap((line, i) => (line.includes(run) && line.includes(' asks ') ? [i] : []));
        const sent = output.slice(requests[request - 1]).find((line) => line.includes(`${person}  http`));
        const [url] = sent?.match(/http\S+/) ?? [];
        if (requests.length < request || !url) throw new Error(`${person} received no link:\n${output.join('\n')}`);
        return url;
      }, POLL_OPTIONS),
    until: (run, status) =>
      vi.waitFor(async () => expect((await api(runPath(run))).json).toMatchObject({ status }), POLL_OPTIONS),
    api,
  };
  return scene;
}

/** The path of a run in the API. */
export const runPath = (run: string): string => `/api/runs/${encodeURIComponent(run)}`;

/** The file of an agent of these tests, in the project of a scene. */
export const agentFile = (name: string): string => `test/browser/agents/${name}.ts`;

/** The file of an example agent, in the project of a scene. */
export const exampleFile = (name: string): string => `examples/${name}/agent.ts`;

/** Copies the agents to a project of their own; in this repository, they would import its sources. */
function createProject(): string {
  const project = mkdtempSync(join(tmpdir(), 'waitstate-browser-'));
  const own = ['agents', 'hostile-texts.ts', 'watched.ts'].map((name) => `test/browser/${name}`);
  for (const path of ['examples', ...own]) cpSync(join(ROOT, path), join(project, path), { recursive: true });
  writeFileSync(join(project, 'package.json'), '{"type":"module"}');
  mkdirSync(join(project, 'node_modules'));
  symlinkSync(join(ROOT, 'node_modules/zod'), join(project, 'node_modules/zod'), 'dir');
  return project;
}
