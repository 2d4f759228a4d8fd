import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { simulateLatency } from './latency.ts';
import type { Ledger, Line } from './ledger.ts';

/** The ledger of one service, in the folder with the runs of this machine. */
export function fileLedger<L extends Line>(service: string): Ledger<L> {
  const file = (): string => {
    const { WAITSTATE_FOLDER: folder = join(tmpdir(), 'waitstate') } = process.env;
    return join(folder, 'examples', `${service}.jsonl`);
  };
  const lines = (): readonly L[] => {
    if (!existsSync(file())) return [];
    const written: L[] = readFileSync(file(), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    // Two processes may write concurrently: the first entry of a key counts.
    const first = new Map(written.toReversed().map((line) => [line.key, line]));
    return written.filter((line) => first.get(line.key) === line);
  };
  const findEntry = (key: string) => lines().find((line) => line.key === key);
  return {
    async record(line) {
      await simulateLatency();
      mkdirSync(dirname(file()), { recursive: true, mode: 0o700 });
      if (!findEntry(line.key)) appendFileSync(file(), `${JSON.stringify(line)}\n`);
      return findEntry(line.key) ?? line;
    },
    entries: async () => lines(),
  };
}
