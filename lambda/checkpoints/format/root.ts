import type { Doc } from '../document/document.ts';
import type { Op } from '../document/op.ts';
import type { Segment } from './meta.ts';

/** The content of a checkpoint: the agent's state, and the tool results by call id, in groups. */
export interface Root {
  readonly state: Doc;
  readonly results: { readonly [group: string]: { readonly [callId: string]: Doc } };
  readonly [key: string]: Doc;
}

export type Patch = readonly Op[];

/** The chain of a checkpoint, from which the next one decides whether to write a patch or a snapshot. */
export interface Chain {
  readonly anchor: number;
  readonly snapshotBytes: number;
  /** The total size of the patches in records since the anchor. */
  readonly recordBytes: number;
  readonly segments: readonly Segment[];
  /** The patches in all segments but the first, and the patches in records since the anchor; a fold merges them. */
  readonly folded: readonly Patch[];
  readonly patches: readonly Patch[];
}

/** The decoded content of a checkpoint with its chain. */
export interface Content {
  readonly root: Root;
  readonly model: Doc | undefined;
  readonly chain: Chain;
}
