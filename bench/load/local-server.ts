import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What is asked of the process of the server. */
export type ToServer = 'memory' | 'stop';

/** What it tells. */
export type FromServer =
  | { readonly tell: 'ready'; readonly url: string; readonly key: string }
  | { readonly tell: 'link'; readonly run: string; readonly url: string }
  | { readonly tell: 'wrong'; readonly text: string }
  | ({ readonly tell: 'memory' } & Memory);

/** Bytes after a collection of garbage. */
interface Memory {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
}

/** The local server under load. */
export interface ServerUnderLoad {
  readonly url: string;
  readonly key: string;
  /** What it warned of, or said in red. */
  readonly problems: readonly string[];
  /** The link that somebody was sent for a run, once it was. */
  link(run: string): Promise<string>;
  memory(): Promise<Memory>;
  stop(): Promise<void>;
}

const AGENT = fileURLToPath(new URL('./agent.ts', import.meta.url));

/** Starts the local server on a folder with the agent of the load, whose effects go to a file. */
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
  const wrongs: string[] = [];
  const ready = Promise.withResolvers<{ readonly url: string; readonly key: string }>();
  const waiting: ((memory: Memory) => void)[] = [];
  child.on('message', (told: FromServer) => {
    if (told.tell === 'ready') ready.resolve(told);
    if (told.tell === 'link') linkTo(told.run).resolve(told.url);
    if (told.tell === 'wrong') wrongs.push(told.text);
    if (told.tell === 'memory') waiting.shift()?.(told);
  });
  child.on('exit', (code) => ready.reject(new Error(`The server ended with ${code} before it was ready.`)));
  const { url, key } = await ready.promise;
  const ask = (asked: ToServer) => child.send(asked);
  return {
    ...{ url, key, problems: wrongs },
    async link(run) {
      const found = await linkTo(run).promise;
      links.delete(run);
      return found;
    },
    memory: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        ask('memory');
      }),
    stop: () => stopped(child, () => ask('stop')),
  };
}

/** Ends a process, and by force when it does not. */
const stopped = (child: ChildProcess, ask: () => void): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    const patience = setTimeout(() => child.kill('SIGKILL'), 20_000);
    child.once('exit', () => {
      clearTimeout(patience);
      resolve();
    });
    ask();
  });
