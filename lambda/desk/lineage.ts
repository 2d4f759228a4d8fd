import type { Status } from '../core/status.ts';

/** A run in the tree of its forks. */
export interface Relative {
  readonly run: string;
  /** Absent when the run is gone. */
  readonly status?: Status;
  /** The version of its parent that it began with. */
  readonly fromVersion?: number;
  readonly forks: readonly Relative[];
}

/** The tree that a run is in: from its oldest known ancestor down to all that was forked from it. */
export interface Lineage {
  readonly root: Relative;
  /** Whether there are more forks than are listed. */
  readonly isMore: boolean;
}
