import { formatNumber, formatTable } from '../table.ts';
import type { ServerUnderLoad } from './local-server.ts';

interface Sample {
  readonly seconds: number;
  readonly rss: number;
  readonly heap: number;
}

const MB = 1024 * 1024;

/** Samples the memory of the server at intervals, each time after a garbage collection. */
export class MemoryMonitor {
  readonly #samples: Sample[] = [];
  readonly #server: ServerUnderLoad;
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout;

  constructor(server: ServerUnderLoad, everyMs: number) {
    this.#server = server;
    this.#timer = setInterval(() => void this.#sample(), everyMs).unref();
  }

  async #sample(): Promise<void> {
    const { rss, heapUsed } = await this.#server.memory();
    const seconds = (performance.now() - this.#startedAt) / 1000;
    this.#samples.push({ seconds, rss: rss / MB, heap: heapUsed / MB });
  }

  /** Takes a last sample; returns a table of samples and the growth over the second half. */
  async stop(): Promise<string> {
    clearInterval(this.#timer);
    await this.#sample();
    const all = this.#samples;
    const step = Math.max(1, Math.ceil(all.length / 12));
    const rows = all
      .filter((_, i) => (all.length - 1 - i) % step === 0)
      .map(({ seconds, heap, rss }) => [Math.round(seconds), heap, rss]);
    const half = all.slice(Math.floor(all.length / 2));
    const growth = (field: 'heap' | 'rss') =>
      formatNumber(slope(half.map((sample) => [sample.seconds / 60, sample[field]])));
    const minutes = formatNumber(((half.at(-1)?.seconds ?? 0) - (half[0]?.seconds ?? 0)) / 60);
    return [
      formatTable('Memory of the server, after a garbage collection:', ['second', 'heap MB', 'resident MB'], rows),
      `Growth over the last ${minutes} minutes: heap ${growth('heap')} MB a minute, resident ${growth('rss')} MB a minute.`,
    ].join('\n');
  }
}

/** The slope of the least-squares line through points. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map((point) => point[0])), mean(points.map((point) => point[1]))];
  const covariance = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0);
  return covariance / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
}
