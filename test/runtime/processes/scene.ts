import { Journey } from './journey.ts';
import { journeyOutcomes, type Outcome } from './outcome.ts';
import type { SharedStorage } from './shared-storage.ts';
import { WorkerPool } from './worker-pool.ts';

/** A place with processes, and what comes of a journey when nobody disturbs it. */
export interface Scene {
  readonly place: SharedStorage;
  readonly crew: WorkerPool;
  /** Where the processes of an undisturbed journey were. */
  readonly moments: readonly string[];
  readonly undisturbed: readonly [Outcome, Outcome];
  close(): Promise<void>;
}

export async function sceneIn(open: () => Promise<SharedStorage>): Promise<Scene> {
  const place = await open();
  const crew = new WorkerPool(place);
  // The first process alone: it leaves its compiled code to those that come.
  const journey = new Journey(place, crew, crew.of(3), { run: 'undisturbed', dies: () => false, again: 'lambda' });
  await journey.travel();
  return {
    ...{ place, crew, moments: journey.moments },
    undisturbed: await journeyOutcomes(place, 'undisturbed'),
    async close() {
      await crew.close();
      await place.close();
    },
  };
}
