import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A message to the server process. */
export type ToServer = 'memory' | 'stop';

/** A message from the server process. */
export type FromServer =
  | { readonly kind: 'ready'; readonly url: string; readonly key: string }
  | { readonly kind: 'link'; readonly run: string; readonly url: string }
  | { readonly kind: 'problem'; readonly text: string }
  | ({ readonly kind: 'memory' } & Memory);

/** Bytes in use after a garbage collection. */
interface Memory {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
}

/** The local server under load. */
export interface ServerUnderLoad {
  readonly url: string;
  readonly key: string;
  /** The lines that the server logged in red. */
  readonly problems: readonly string[];
  /** Resolves to the approval link of a run once it was sent. */
  link(run: string): Promise<string>;
  memory(): Promise<Memory>;
  stop(): Promise<void>;
}

const AGENT = fileURLToPath(new URL('./agent.ts', import.meta.url));

/** Starts the local server on a folder with the agent of the load test, which records its effects in a file. */
export async function startServer(folder: string, effects: string): Promise<ServerUnderLoad> {
  const child = fork(new URL('./server.ts', import.meta.url), [folder, AGENT], {
    env: { ...process.env, LOAD_EFFECTS: effects },
    execArgv: ['--expose-gc'],
    stdio: 'inherit',
  });
  const links = new Map<string, PromiseWithResolvers<string>>();
  const linkTo = (run: string) => {
    const link = links.get(run) ?? Promise.withResolvers<string>();
    links.set(run, link);
    return link;
  };
  const problems: string[] = [];
  const ready = Promise.withResolvers<{ readonly url: string; readonly key: string }>();
  const waiting: ((memory: Memory) => void)[] = [];
  child.on('message', (message: FromServer) => {
    if (message.kind === 'ready') ready.resolve(message);
    if (message.kind === 'link') linkTo(message.run).resolve(message.url);
    if (message.kind === 'problem') problems.push(message.text);
    if (message.kind === 'memory') waiting.shift()?.(message);
  });
  child.on('exit', (code) =>
    ready.reject(new Error(`Expected the server to become ready; it exited with code ${code} before.`)),
  );
  const { url, key } = await ready.promise;
  const send = (message: ToServer) => child.send(message);
  return {
    url,
    key,
    problems,
    async link(run) {
      const found = await linkTo(run).promise;
      links.delete(run);
      return found;
    },
    memory: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        send('memory');
      }),
    stop: () => stopProcess(child, () => send('stop')),
  };
}

/** Asks a process to stop, and kills it if it does not exit in time. */
const stopProcess = (child: ChildProcess, askToStop: () => void): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    askToStop();
  });
