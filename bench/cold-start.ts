import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Metafile } from 'esbuild';
import { formatNumber, formatTable, median, print } from './table.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const BARE = `
  import { DynamoDBClient, GetItemCommand, PutItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
  const client = new DynamoDBClient({});
  export const handler = async (input) => [
    await client.send(new PutItemCommand(input)), await client.send(new QueryCommand(input)), await client.send(new GetItemCommand(input))];`;

const STORE = `
  import { checkpointStore } from './lambda/dynamodb.ts';
  const store = checkpointStore({ table: 'table', bucket: 'bucket' });
  export const handler = async ({ run, message }) => store.update(run, (draft) => void draft.messages.push(message));`;

const RUNTIME = `
  import { agent } from './lambda/index.ts';
  import { dynamoStorage } from './lambda/dynamodb.ts';
  const trip = agent({ name: 'trip', run: async (ctx) => ctx.step('search', () => 'flights') },
    { storage: dynamoStorage({ table: 'table', bucket: 'bucket' }) });
  export const handler = trip.handler();`;

interface Bundle {
  readonly name: string;
  readonly file: string;
  /** Sizes of all files and of the files loaded at start, and of our own sources in each. */
  readonly kb: number;
  readonly startKb: number;
  readonly ownKb: number;
  readonly ownStartKb: number;
}

/** The size of our own code, minified: loaded at the start of a bundle with splitting, and all of it in one file. */
interface OwnCode {
  readonly ownStartKb: number;
  readonly ownKb: number;
  /** How much longer the import takes than the bare client's; absent if only sizes were measured. */
  readonly extraMs?: number;
}

/** What our code adds to a function that uses the store, and to an agent on the runtime. */
export interface ColdStart {
  readonly store: OwnCode;
  readonly runtime: OwnCode;
}

/** Prints what our code adds to the bundle of a function and, if `rounds` is above 0, to its import time. */
export async function coldStart(rounds: number): Promise<ColdStart> {
  const folder = await mkdtemp(join(tmpdir(), 'waitstate-bench-'));
  try {
    const bare = await bundle(folder, 'bare DynamoDB client', BARE, false);
    const store = await bundle(folder, 'store on waitstate/dynamodb, one file', STORE, false);
    const runtime = await bundle(folder, 'agent on the runtime, one file', RUNTIME, false);
    const bareSplit = await bundle(folder, 'bare DynamoDB client, with splitting', BARE, true);
    const storeSplit = await bundle(folder, 'store, with splitting', STORE, true);
    const runtimeSplit = await bundle(folder, 'agent on the runtime, with splitting', RUNTIME, true);
    const bundles = [bare, store, runtime, bareSplit, storeSplit, runtimeSplit];
    const times = bundles.map((): number[] => []);
    for (let round = 0; round < rounds; round++) {
      for (const [at, { file }] of bundles.entries()) times[at]?.push(importMs(file));
    }
    const medians = times.map(median);
    // Each bundle is compared with the bare client bundled the same way, within a round, because other load on the
    // machine slows down both.
    const extraTime = (each: Bundle, than: Bundle) => {
      const [own = [], theirs = []] = [times[bundles.indexOf(each)], times[bundles.indexOf(than)]];
      return each === than ? undefined : median(own.map((ms, round) => ms - (theirs[round] ?? Number.NaN)));
    };
    const rows = bundles.map((each, at) => {
      const { name, kb, startKb, ownKb, ownStartKb } = each;
      const timed = rounds > 0 ? [medians[at], extraTime(each, at < 3 ? bare : bareSplit)] : [undefined, undefined];
      return [name, kb, startKb, ownKb, ownStartKb, ...timed];
    });
    print(
      formatTable(
        `Cold start: sizes of minified bundles in KB (1,000 bytes), the part loaded at start, and our own code in each${
          rounds > 0
            ? `; import in fresh processes, medians of ${rounds} interleaved rounds, and of the differences within them`
            : ''
        }.`,
        ['bundle', 'KB', 'KB at start', 'ours', 'ours at start', 'import ms', 'more than bare'],
        rows,
      ),
    );
    if (rounds > 0)
      print(
        `  Spread of the import of one file (ms): bare ${spread(times[0])}, store ${spread(times[1])}, agent ${spread(times[2])}.`,
      );
    // Import times are those with splitting, because one file always includes the S3 client, even if it is not used.
    const own = (split: Bundle, { ownKb }: Bundle): OwnCode => {
      const extraMs = extraTime(split, bareSplit);
      return { ownStartKb: split.ownStartKb, ownKb, ...(rounds > 0 && extraMs !== undefined && { extraMs }) };
    };
    return { store: own(storeSplit, store), runtime: own(runtimeSplit, runtime) };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function bundle(folder: string, name: string, contents: string, splitting: boolean): Promise<Bundle> {
  const outdir = join(folder, name.replaceAll(/\W+/g, '-'));
  const { metafile } = await build({
    stdin: { contents, resolveDir: ROOT, sourcefile: 'agent.ts', loader: 'ts' },
    outdir,
    entryNames: 'agent',
    outExtension: { '.js': '.mjs' },
    // CommonJS modules of the SDK need `require`.
    banner: {
      js: "import { createRequire as $require } from 'node:module'; const require = $require(import.meta.url);",
    },
    absWorkingDir: ROOT,
    bundle: true,
    minify: true,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    splitting,
    logLevel: 'error',
  });
  const files = Object.entries(metafile.outputs);
  const start = filesLoadedAtStart(metafile, files.find(([path]) => path.endsWith('/agent.mjs'))?.[0] ?? '');
  const { kb, ownKb } = sizeInKb(files);
  const startSize = sizeInKb(files.filter(([path]) => start.has(path)));
  return { name, file: join(outdir, 'agent.mjs'), kb, ownKb, startKb: startSize.kb, ownStartKb: startSize.ownKb };
}

/** The size of files and of our own code in them, in KB of 1,000 bytes. */
export function sizeInKb(files: readonly [string, Metafile['outputs'][string]][]): { kb: number; ownKb: number } {
  const inputs = files.flatMap(([, output]) => Object.entries(output.inputs));
  const own = inputs.filter(([path]) => path.startsWith('lambda/'));
  return {
    kb: files.reduce((sum, [, { bytes }]) => sum + bytes, 0) / 1000,
    ownKb: own.reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0) / 1000,
  };
}

/** The files loaded with the first one: all that are imported by a statement and not by `import()`. */
export function filesLoadedAtStart(metafile: Metafile, first: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(first)) return found;
  found.add(first);
  for (const { path, kind } of metafile.outputs[first]?.imports ?? []) {
    if (kind === 'import-statement' && metafile.outputs[path]) filesLoadedAtStart(metafile, path, found);
  }
  return found;
}

/** How long the import of a file takes in a new process. */
export function importMs(file: string): number {
  const program = `const before = performance.now(); await import(${JSON.stringify(pathToFileURL(file).href)}); console.log(performance.now() - before);`;
  return Number(
    execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      env: { ...process.env, AWS_REGION: 'us-east-1' },
    }),
  );
}

function spread(times: readonly number[] = []): string {
  const sorted = times.toSorted((a, b) => a - b);
  return `${formatNumber(sorted[0])} to ${formatNumber(sorted.at(-1))}`;
}
