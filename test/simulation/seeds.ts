import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

/** Which seeds are run, and with which guard taken out. */
export interface Seeds {
  readonly first: number;
  readonly count: number;
  readonly broken: string | undefined;
}

/** A seed that showed something. */
export interface Failed {
  readonly seed: number;
  readonly findings: readonly string[];
}

/** Runs seeds in as many threads as there are processors, up to the first that fails. */
export async function runSeeds(
  { first, count, broken }: Seeds,
  done: (count: number) => void,
): Promise<Failed | undefined> {
  let next = first;
  let over = 0;
  let failed: Failed | undefined;
  const work = () =>
    new Promise<void>((resolve, reject) => {
      const worker = new Worker(new URL('./child-seeds.ts', import.meta.url), { workerData: { broken } });
      const ask = () => {
        if (failed || next >= first + count) return void worker.terminate().then(() => resolve(), reject);
        worker.postMessage(next++);
      };
      worker.on('error', reject);
      worker.on('message', (came: Failed) => {
        // Those that were begun before it may still show an earlier one.
        if (came.findings.length > 0 && came.seed < (failed?.seed ?? Infinity)) failed = came;
        done(++over);
        ask();
      });
      ask();
    });
  await Promise.all(Array.from({ length: Math.min(count, availableParallelism()) }, work));
  return failed;
}
