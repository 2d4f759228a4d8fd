import type { ErrorCode } from '../../../lambda/core/errors.ts';
import type { Scene, Store } from '../scene.ts';

/** One of those who do something at once. */
export interface Actor {
  readonly does: string;
  run(store: Store, scene: Scene): Promise<unknown>;
  /** Whether its process has loaded the run before. */
  readonly warm?: boolean;
  readonly key?: 'old' | 'new';
  /** The codes with which it may rightly lose. */
  readonly mayFail?: readonly ErrorCode[];
}

export interface Race {
  readonly actors: readonly Actor[];
  readonly encrypted?: boolean;
  /** What there is before: a run, unless told otherwise. */
  prepare?(scene: Scene): Promise<unknown>;
  /** The time at which the race begins, counted from the last preparation. */
  readonly later?: number;
  /** The run may be gone at the end, so that confirmed writes are too. */
  readonly mayGo?: readonly string[];
  /** Checkpoints may be pruned at the end. */
  readonly prunes?: boolean;
  check?(
    outcomes: readonly PromiseSettledResult<unknown>[],
    scene: Scene,
    sound: ReadonlyMap<number, unknown> | string,
  ): Promise<void> | void;
}
