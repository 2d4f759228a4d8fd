import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleHandlers } from '../infra/handlers/bundle.ts';
import { HANDLERS, type HandlerName } from '../lambda/environment/names.ts';
import { filesLoadedAtStart, importMs, sizeInKb } from './cold-start.ts';
import { formatTable, median, print } from './table.ts';

/** What the function of each handler loads at its start, in KB, minified, the AWS SDK included. */
export type FunctionStarts = Readonly<Record<HandlerName, number>>;

/** Prints the size of the deployed functions and, if `rounds` is above 0, how long their import takes in a new process. */
export async function functionStarts(rounds: number): Promise<FunctionStarts> {
  const folder = await mkdtemp(join(tmpdir(), 'waitstate-bench-'));
  try {
    const metafile = await bundleHandlers(folder);
    const files = Object.entries(metafile.outputs).filter(([path]) => path.endsWith('.mjs'));
    const starts = HANDLERS.map((name) => {
      const loaded = filesLoadedAtStart(metafile, `dist/functions/${name}.mjs`);
      const { kb, ownKb } = sizeInKb(files.filter(([path]) => loaded.has(path)));
      return { name, kb, ownKb, file: join(folder, `${name}.mjs`), times: [] as number[] };
    });
    for (let round = 0; round < rounds; round++) for (const { file, times } of starts) times.push(importMs(file));
    print(
      formatTable(
        `Functions: what each handler loads at its start, out of ${Math.round(sizeInKb(files).kb)} KB for all handlers, minified${
          rounds > 0 ? `; import in fresh processes, medians of ${rounds} interleaved rounds` : ''
        }.`,
        ['function', 'KB at start', 'ours', 'import ms'],
        starts.map(({ name, kb, ownKb, times }) => [name, kb, ownKb, rounds > 0 ? median(times) : undefined]),
      ),
    );
    return Object.fromEntries(starts.map(({ name, kb }) => [name, kb])) as FunctionStarts;
  } finally {
    await rm(folder, { recursive: true });
  }
}
