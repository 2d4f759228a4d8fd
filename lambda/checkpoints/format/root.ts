import type { Doc } from '../document/document.ts';
import type { Op } from '../document/op.ts';
import type { Segment } from './meta.ts';

/** What a checkpoint keeps of its run: the agent's state, and the tool results by call id, in groups. */
export interface Root {
  readonly state: Doc;
  readonly results: { readonly [group: string]: { readonly [callId: string]: Doc } };
  readonly [key: string]: Doc;
}

export type Patch = readonly Op[];

/** What a checkpoint stands on, so that the next one can decide what to write. */
export interface Chain {
  readonly anchor: number;
  readonly snapshotBytes: number;
  /** The weight of the patches since the anchor that are in records. */
  readonly recordBytes: number;
  readonly segments: readonly Segment[];
  /** The patches in each segment but the first, and those in records since the anchor: what a fold joins. */
  readonly folded: readonly Patch[];
  readonly patches: readonly Patch[];
}

/** What one checkpoint holds. */
export interface Content {
  readonly root: Root;
  readonly model: Doc | undefined;
  readonly chain: Chain;
}
