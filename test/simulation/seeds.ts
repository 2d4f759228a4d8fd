import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

/** Which seeds to run, and which guard to disable. */
export interface Seeds {
  readonly first: number;
  readonly count: number;
  readonly broken: string | undefined;
}

/** A seed with findings. */
export interface FailedSeed {
  readonly seed: number;
  readonly findings: readonly string[];
}

/** Runs seeds in one thread per processor until one fails; returns the lowest failed seed. */
export async function runSeeds(
  { first, count, broken }: Seeds,
  onProgress: (done: number) => void,
): Promise<FailedSeed | undefined> {
  let next = first;
  let done = 0;
  let failed: FailedSeed | undefined;
  const work = () =>
    new Promise<void>((resolve, reject) => {
      const worker = new Worker(new URL('./child-seeds.ts', import.meta.url), { workerData: { broken } });
      const runNext = () => {
        if (failed || next >= first + count) return void worker.terminate().then(() => resolve(), reject);
        worker.postMessage(next++);
      };
      worker.on('error', reject);
      worker.on('message', (result: FailedSeed) => {
        // A lower seed that is still running in another thread may fail too.
        if (result.findings.length > 0 && result.seed < (failed?.seed ?? Infinity)) failed = result;
        onProgress(++done);
        runNext();
      });
      runNext();
    });
  await Promise.all(Array.from({ length: Math.min(count, availableParallelism()) }, work));
  return failed;
}
