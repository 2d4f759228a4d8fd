import { Worker } from 'node:worker_threads';

/** Which seeds to run, which guard to disable, and in how many threads. */
export interface Seeds {
  readonly first: number;
  readonly count: number;
  readonly broken: string | undefined;
  readonly jobs: number;
}

/** A seed with findings. */
export interface FailedSeed {
  readonly seed: number;
  readonly findings: readonly string[];
}

/** Runs seeds in threads until one fails; returns the lowest failed seed, which does not depend on the threads. */
export async function runSeeds(
  { first, count, broken, jobs }: Seeds,
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
        // Seeds start in order, so every lower seed has started: one that is still running may fail, too.
        if (result.findings.length > 0 && result.seed < (failed?.seed ?? Infinity)) failed = result;
        onProgress(++done);
        runNext();
      });
      runNext();
    });
  await Promise.all(Array.from({ length: Math.min(count, jobs) }, work));
  return failed;
}
