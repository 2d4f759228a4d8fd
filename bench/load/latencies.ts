import { formatTable } from '../table.ts';

/** Latencies by kind of request. */
export class Latencies {
  readonly #byKind = new Map<string, number[]>();

  add(what: string, milliseconds: number): void {
    const latencies = this.#byKind.get(what) ?? [];
    this.#byKind.set(what, latencies);
    latencies.push(milliseconds);
  }

  /** A table with one line for each kind, in milliseconds. */
  table(sentence: string): string {
    return formatTable(
      sentence,
      ['', 'count', 'p50 ms', 'p90 ms', 'p99 ms', 'max ms'],
      [...this.#byKind].map(([what, all]) => [
        what,
        all.length,
        ...[50, 90, 99, 100].map((share) => percentile(all, share)),
      ]),
    );
  }
}

/** The percentile of values by nearest rank: `percentile(values, 99)` is the p99. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((share / 100) * sorted.length) - 1)] ?? Number.NaN;
}
