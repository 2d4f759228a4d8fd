import { formatTable } from '../table.ts';

/** How long things took, by what they are. */
export class Latencies {
  readonly #of = new Map<string, number[]>();

  add(what: string, milliseconds: number): void {
    const known = this.#of.get(what) ?? [];
    this.#of.set(what, known);
    known.push(milliseconds);
  }

  /** A table with one line for each kind, in milliseconds. */
  table(sentence: string): string {
    return formatTable(
      sentence,
      ['', 'times', 'p50 ms', 'p90 ms', 'p99 ms', 'most ms'],
      [...this.#of].map(([what, all]) => [
        what,
        all.length,
        ...[50, 90, 99, 100].map((share) => percentile(all, share)),
      ]),
    );
  }
}

/** The value that so many per cent are not above. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((share / 100) * sorted.length) - 1)] ?? Number.NaN;
}
