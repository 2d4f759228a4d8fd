import { parentPort, workerData } from 'node:worker_threads';
import { runSeed } from './run-seed.ts';

/** A worker thread that runs the seeds it receives, one after the other. */
parentPort?.on('message', async (seed: number) => {
  const { findings } = await runSeed(seed, workerData);
  parentPort?.postMessage({ seed, findings });
});
