import { Journey } from './journey.ts';
import { journeyOutcomes, type Outcome } from './outcome.ts';
import type { SharedStorage } from './shared-storage.ts';
import { WorkerPool } from './worker-pool.ts';

/** A shared storage with processes, and the outcome of an undisturbed journey. */
export interface Scene {
  readonly shared: SharedStorage;
  readonly pool: WorkerPool;
  /** The moments of an undisturbed journey. */
  readonly moments: readonly string[];
  readonly undisturbed: readonly [Outcome, Outcome];
  close(): Promise<void>;
}

export async function sceneIn(open: () => Promise<SharedStorage>): Promise<Scene> {
  const shared = await open();
  const pool = new WorkerPool(shared);
  // The first process runs alone, to fill the compile cache for the others.
  const journey = new Journey(shared, pool, pool.of(3), { run: 'undisturbed', dies: () => false, again: 'lambda' });
  await journey.travel();
  return {
    shared,
    pool,
    moments: journey.moments,
    undisturbed: await journeyOutcomes(shared, 'undisturbed'),
    async close() {
      await pool.close();
      await shared.close();
    },
  };
}
