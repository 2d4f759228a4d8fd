import type { ErrorCode } from '../../../lambda/core/errors.ts';
import type { Scene, Store } from '../scene.ts';

/** One of several concurrent processes. */
export interface Actor {
  readonly does: string;
  run(store: Store, scene: Scene): Promise<unknown>;
  /** Whether its process has loaded the run before. */
  readonly warm?: boolean;
  readonly key?: 'old' | 'new';
  /** The error codes with which it may fail. */
  readonly mayFail?: readonly ErrorCode[];
}

export interface Race {
  readonly actors: readonly Actor[];
  readonly encrypted?: boolean;
  /** Prepares the storage. @default creates a run */
  prepare?(scene: Scene): Promise<unknown>;
  /** How long after the preparation the race starts. */
  readonly later?: number;
  /** The error codes with which the run, and its confirmed writes, may be gone at the end. */
  readonly mayBeGone?: readonly string[];
  /** Checkpoints may be pruned at the end. */
  readonly prunes?: boolean;
  check?(
    outcomes: readonly PromiseSettledResult<unknown>[],
    scene: Scene,
    sound: ReadonlyMap<number, unknown> | string,
  ): Promise<void> | void;
}
