import { createServer, type Server } from 'node:http';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { createApi } from '../../../lambda/api/app.ts';
import type { KnownAgent } from '../../../lambda/http/app-options.ts';
import { HttpError } from '../../../lambda/http/problem.ts';
import { createOperator } from '../../../lambda/operator/create-operator.ts';
import { embeddedStorage } from '../../../lambda/storage/embedded/embedded-storage.ts';
import { type Line, styled } from '../../terminal/line.ts';
import { describeTests, findFiles } from '../agents/find-files.ts';
import { createDevLog } from '../log/dev-log.ts';
import { DEFAULT_TIMING, type Timing } from '../processes/timing.ts';
import { type FolderLock, lockFolder } from './folder-lock.ts';
import { createGuard, problemResponse } from './guard.ts';
import { LOOPBACK, listen } from './listen.ts';
import { createLocalRuntime, type LocalRuntime } from './local-runtime.ts';
import { loadServerFile, writeServerFile } from './server-file.ts';

export interface ServeOptions {
  /** Agent files, or glob patterns. */
  readonly files: readonly string[];
  /** Commands that run agents in other languages, each run in a process of its own. @default none */
  readonly commands?: readonly string[] | undefined;
  /** Where runs are stored. @default `.waitstate` */
  readonly folder?: string | undefined;
  /** Must be free. @default the port of the last start, 4180, or the next free port */
  readonly port?: number | undefined;
  /** The tenant whose runs the console and the API show. @default "default" */
  readonly tenant?: string | undefined;
  /** Whether files are reloaded when they change. @default true */
  readonly watch?: boolean | undefined;
  /** How many agent processes run at the same time. @default 8, or the number of CPUs if that is larger */
  readonly concurrency?: number | undefined;
  /** Called when the agent files are loaded, before runs resume. */
  readonly onAgentsLoaded?: (() => Promise<void>) | undefined;
  /** Prints a line of the log. */
  readonly print: (line: Line) => void;
  readonly timing?: Partial<Timing> | undefined;
}

/** The local server. */
export interface LocalServer {
  readonly url: string;
  /** The URL with the key, which signs a browser in. */
  readonly keyedUrl: string;
  readonly key: string;
  readonly folder: string;
  /** Resolves when the agent files are loaded and runs resume. */
  readonly ready: Promise<void>;
  agents(): readonly KnownAgent[];
  /** Whether a command runs agents of any other name. */
  startsAnyAgent(): boolean;
  /** How many approvals are pending; counts to a hundred at most. */
  countPendingApprovals(): Promise<number>;
  /** How many processes are executing a run. */
  readonly runningCount: number;
  /** Takes no more work, gives running processes a moment to finish, and releases all resources. */
  stop(): Promise<void>;
  /** Kills all processes immediately. */
  kill(): void;
}

/** Serves a folder on the loopback address, and runs the agents of these files. */
export async function serve(options: ServeOptions): Promise<LocalServer> {
  const { tenant = 'default', print, watch = true } = options;
  const folder = resolve(options.folder ?? '.waitstate');
  const { files, tests } = findFiles(options.files, process.cwd());
  const { key, port: lastPort } = await loadServerFile(folder);
  const storage = embeddedStorage({ folder });
  const opened: { lock?: FolderLock; server?: Server; agents?: LocalRuntime } = {};
  const close = async () => {
    await opened.agents?.stop();
    await closeServer(opened.server);
    await Promise.all([storage.records.close(), storage.payloads.close()]);
    opened.lock?.release();
  };
  try {
    // Opens the store, so that a broken folder fails here.
    await storage.records.read('-', ['-']);
    opened.lock = await lockFolder(folder);
    const server = createServer();
    const port = await listen(server, options.port, lastPort);
    opened.server = server;
    const url = `http://${LOOPBACK}:${port}`;
    const log = createDevLog(print);
    if (tests.length > 0) log.server(styled('yellow', `Ignored: ${describeTests(tests)}`));
    const agents = createLocalRuntime({
      storage,
      folder,
      tenant,
      files,
      url,
      log,
      environment: environmentFor(folder, url),
      commands: options.commands ?? [],
      commandEnvironment: { WAITSTATE_URL: url, WAITSTATE_KEY: key, ...UNBUFFERED },
      concurrency: options.concurrency ?? Math.max(8, availableParallelism()),
      timing: { ...DEFAULT_TIMING, ...options.timing },
    });
    opened.agents = agents;
    attachApi(server, agents, { key, port, tenant });
    await writeServerFile(folder, { key, port, url, pid: process.pid });
    const ready = agents.start({ watch, onAgentsLoaded: options.onAgentsLoaded });
    // Callers that do not wait for it must not crash.
    ready.catch(() => {});
    let stopped: Promise<void> | undefined;
    return {
      url,
      key,
      folder,
      keyedUrl: `${url}/?key=${key}`,
      ready,
      agents: () => agents.agentSummaries(),
      startsAnyAgent: () => agents.startsAny,
      countPendingApprovals: async () => (await createOperator(agents.runtime).pendingApprovals()).length,
      get runningCount() {
        return agents.runningCount;
      },
      stop() {
        stopped ??= writeServerFile(folder, { key, port }).then(close);
        return stopped;
      },
      kill: () => agents.kill(),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface ListenerOptions {
  readonly key: string;
  readonly port: number;
  readonly tenant: string;
}

/** Serves the API and the console to requests that pass the guard. */
function attachApi(server: Server, agents: LocalRuntime, options: ListenerOptions): void {
  const { runtime, workers } = agents;
  const guard = createGuard(options);
  const api = createApi({
    runtime,
    identify: (request) => guard.identify(request) ?? throwUnauthenticated(),
    telemetry: { log: runtime.log, count: () => {} },
    agents: async () => agents.agentSummaries(),
    startsAnyAgent: () => agents.startsAny,
    workers,
    eventPollMs: 200,
  });
  const respond = (request: Request, env: HttpBindings) =>
    guard.check(request, env.incoming) ?? api.fetch(request, env);
  const listener = getRequestListener((request, env) => respond(request, env as HttpBindings), {
    overrideGlobalObjects: false,
    errorHandler: () => problemResponse(400, 'INVALID_INPUT', 'The request is malformed.'),
  });
  server.on('request', (incoming, outgoing) => void listener(incoming, outgoing));
}

function throwUnauthenticated(): never {
  const advice = 'Open the URL that the server printed when it started; "waitstate console" prints it again.';
  throw new HttpError(401, 'NOT_AUTHENTICATED', `This request needs the key of the server. ${advice}`, {
    headers: { 'www-authenticate': 'Bearer' },
  });
}

/** The environment of agent processes: it points to this folder and this server, whatever else is set. */
function environmentFor(folder: string, url: string): NodeJS.ProcessEnv {
  const { WAITSTATE_TABLE, WAITSTATE_BUCKET, ...environment } = process.env;
  return {
    // A short process spends most of its time on loading code.
    NODE_COMPILE_CACHE: join(folder, 'code'),
    ...environment,
    WAITSTATE_FOLDER: folder,
    WAITSTATE_APPROVAL_URL: `${url}/approvals/`,
  };
}

/** Otherwise the output of a Python program appears only when it ends. */
const UNBUFFERED = { PYTHONUNBUFFERED: '1' };

const CLOSE_TIMEOUT_MS = 1_000;

async function closeServer(server: Server | undefined): Promise<void> {
  if (!server?.listening) return;
  const patience = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS);
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeIdleConnections();
  });
  clearTimeout(patience);
}
