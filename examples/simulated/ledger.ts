import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { simulateLatency } from './latency.ts';

/** What a service did under a key. */
interface Line {
  readonly key: string;
}

/** Something that was paid for. */
export interface Payment extends Line {
  readonly what: string;
  /** In dollars. */
  readonly amount: number;
}

/** What a simulated service did, in a file: each invocation of an agent is another process, and all see the same. */
export interface Ledger<L extends Line = Payment> {
  /** Writes a line, and gives what stands under its key: as any good service, it does nothing twice under one key. */
  record(line: L): Promise<L>;
  entries(): readonly L[];
}

/** The books of one service, beside the runs of this machine. */
export function createLedger<L extends Line = Payment>(service: string): Ledger<L> {
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
    // Two processes may have written at once: the first line of a key is the one that counts.
    const first = new Map(written.toReversed().map((line) => [line.key, line]));
    return written.filter((line) => first.get(line.key) === line);
  };
  const under = (key: string) => lines().find((line) => line.key === key);
  return {
    async record(line) {
      await simulateLatency();
      mkdirSync(dirname(file()), { recursive: true, mode: 0o700 });
      if (!under(line.key)) appendFileSync(file(), `${JSON.stringify(line)}\n`);
      return under(line.key) ?? line;
    },
    entries: lines,
  };
}
