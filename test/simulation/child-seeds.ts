import { parentPort, workerData } from 'node:worker_threads';
import { runSeed } from './run-seed.ts';

/** Runs the seeds that it is asked for, one after the other, in a thread of its own. */
parentPort?.on('message', async (seed: number) => {
  const { findings } = await runSeed(seed, workerData);
  parentPort?.postMessage({ seed, findings });
});
