import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { readLines } from '../../../cli/dev/processes/read-lines.ts';
import type { Timing } from '../../../cli/dev/processes/timing.ts';
import type { ServeOptions } from '../../../cli/dev/server/serve.ts';
import { bundledProgram } from '../../bundled-program.ts';

const PROGRAM = await bundledProgram('test/cli/dev/child-serving');

// Less than a minute: after that, a sweep would hide a missed delivery.
const LIMIT_MS = 45_000;
const REQUEST_INTERVAL_MS = 250;

/** Waits until `find` returns a value. */
export async function until<T>(
  what: string | (() => string),
  find: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  for (const end = Date.now() + LIMIT_MS; Date.now() < end; await pause(20)) {
    const found = await find();
    if (found !== undefined && found !== false) return found;
  }
  throw new Error(`Timed out waiting for: ${typeof what === 'string' ? what : what()}`);
}

/** A temporary folder with agent files. */
export class Project {
  readonly path = mkdtempSync(join(tmpdir(), 'waitstate-dev-'));

  constructor(files: Readonly<Record<string, string>> = {}) {
    for (const [name, text] of Object.entries(files)) this.write(name, text);
  }

  file(name: string): string {
    return join(this.path, name);
  }

  write(name: string, text: string): string {
    mkdirSync(dirname(this.file(name)), { recursive: true });
    writeFileSync(this.file(name), text);
    return this.file(name);
  }

  /** The lines of a file that agents write to. */
  lines(name: string): readonly string[] {
    const text = existsSync(this.file(name)) ? readFileSync(this.file(name), 'utf8') : '';
    // The last line may be incomplete.
    return text.split('\n').slice(0, -1);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Creates a project that is removed after the test. */
export function projectOf(files: Readonly<Record<string, string>> = {}): Project {
  const project = new Project(files);
  onTestFinished(() => project.remove());
  return project;
}

/** The options of a test server. */
export type ServerOptions = Partial<Pick<ServeOptions, 'port' | 'tenant' | 'watch' | 'concurrency' | 'commands'>> & {
  readonly folder?: string;
  readonly timing?: Partial<Timing>;
  readonly env?: NodeJS.ProcessEnv;
};

/** A local server in a separate process. */
export class ServerProcess {
  readonly lines: string[] = [];
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
  readonly #folder: string;

  constructor(
    project: Project,
    files: readonly string[],
    { env, folder = '.waitstate', ...given }: ServerOptions = {},
  ) {
    this.#folder = join(project.path, folder);
    const options = JSON.stringify({ ...given, folder, files });
    const environment = { ...process.env, NO_COLOR: '1', ...env };
    this.child = spawn(process.execPath, [PROGRAM, options], { cwd: project.path, env: environment });
    this.exited = once(this.child, 'close');
    const { stdout, stderr } = this.child;
    for (const stream of [stdout, stderr]) if (stream) readLines(stream, (line) => this.lines.push(line));
  }

  get log(): string {
    return this.lines.join('\n');
  }

  get key(): string {
    return JSON.parse(readFileSync(join(this.#folder, 'server.json'), 'utf8')).key;
  }

  get url(): string {
    return /serves (http:\S+?)\/\?key=/.exec(this.log)?.[1] ?? '';
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Waits for a line of the log and returns its groups. */
  async waitForLine(line: RegExp, times = 1): Promise<readonly string[]> {
    const found = await until(
      () => `${line} in\n${this.log}`,
      () => this.lines.filter((each) => line.test(each))[times - 1],
    );
    return line.exec(found)?.slice(1) ?? [];
  }

  ready(): Promise<unknown> {
    return until(
      () => `ready:\n${this.log}`,
      () => {
        if (this.child.exitCode !== null) throw new Error(`The server ended:\n${this.log}`);
        return this.lines.includes('ready');
      },
    );
  }

  /** Calls the API with the key. */
  async callApi<T = Record<string, unknown>>(path: string, body?: object): Promise<T> {
    const headers = { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' };
    const init = body ? { method: 'POST', body: JSON.stringify(body) } : {};
    const response = await fetch(`${this.url}${path}`, { ...init, headers });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  async start(agent: string, input: unknown = null, id?: string): Promise<string> {
    const { run } = await this.callApi<{ run: string }>('/api/runs', { agent, input, ...(id !== undefined && { id }) });
    return run;
  }

  /** Waits for a status of a run and returns the run. */
  becomes(run: string, status: string): Promise<Record<string, unknown>> {
    let [lineCount, nextRequest] = [0, 0];
    return until(
      () => `run ${run} is ${status}; the log is\n${this.log}`,
      async () => {
        // Most changes are logged; more requests would only slow down the server.
        if (this.lines.length === lineCount && Date.now() < nextRequest) return false;
        [lineCount, nextRequest] = [this.lines.length, Date.now() + REQUEST_INTERVAL_MS];
        const view = await this.callApi(`/api/runs/${run}`);
        return view.status === status && view;
      },
    );
  }

  /** The lines below the line that says whom a run asks. */
  linesBelowAsks(run: string): readonly string[] {
    const asks = this.lines.findIndex((line) => new RegExp(` ${run} +asks `).test(line));
    const below = asks < 0 ? [] : this.lines.slice(asks + 1);
    const end = below.findIndex((line) => !line.startsWith('     '));
    return end < 0 ? below : below.slice(0, end);
  }

  /** The approval link of a person for a run, in the log. */
  link(run: string, person = 'user:ann'): Promise<string> {
    return until(
      () => `a link of ${person} for ${run} in\n${this.log}`,
      () => this.linesBelowAsks(run).flatMap((line) => line.split(`${person}  `)[1] ?? [])[0],
    );
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal);
    await this.exited;
  }
}

/** Starts a server that is killed after the test. */
export function serverOf(project: Project, files: readonly string[], options: ServerOptions = {}): ServerProcess {
  const server = new ServerProcess(project, files, options);
  onTestFinished(() => server.kill());
  return server;
}

/** Starts a server that the tests of a `describe` share. It runs all files, or those that are given. */
export function sharedServer(
  files: Readonly<Record<string, string>>,
  { given = Object.keys(files), ...options }: ServerOptions & { readonly given?: readonly string[] } = {},
): { readonly project: Project; readonly server: ServerProcess } {
  const project = new Project(files);
  const server = new ServerProcess(project, given, options);
  beforeAll(() => server.ready());
  afterAll(async () => {
    await server.kill();
    project.remove();
  });
  return { project, server };
}

/** Whether a process exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
