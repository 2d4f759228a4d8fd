import { decodeOptions } from '../content.ts';
import type { RunContext } from '../context.ts';
import { compare } from '../document/compare.ts';
import { type Decode, decodeWithin } from '../document/decode.ts';
import { render } from '../document/render.ts';
import { namingDamagedCheckpoint } from '../format/chain.ts';
import { loadCheckpoint } from '../load.ts';
import type { CheckpointSelector, LoadedCheckpoint } from '../loaded-checkpoint.ts';

/** The differences between two states, by path. */
export interface Difference {
  readonly added: readonly { readonly path: string; readonly value: unknown }[];
  readonly removed: readonly { readonly path: string; readonly value: unknown }[];
  readonly changed: readonly { readonly path: string; readonly before: unknown; readonly after: unknown }[];
  /** The differences as text for people, one line per change. */
  readonly text: string;
}

/** Compares the states of two checkpoints. */
export async function diffCheckpoints(
  at: RunContext,
  before: CheckpointSelector,
  after: CheckpointSelector,
): Promise<Difference> {
  const [from, to] = [await loadCheckpoint(at, before), await loadCheckpoint(at, after)];
  const compared = compare(from.root.state, to.root.state);
  const [old, now] = [stateDecoder(at, from), stateDecoder(at, to)];
  return {
    added: compared.added.map(({ path, value }) => ({ path, value: now(value) })),
    removed: compared.removed.map(({ path, value }) => ({ path, value: old(value) })),
    changed: compared.changed.map((change) => ({
      path: change.path,
      before: old(change.before),
      after: now(change.after),
    })),
    text: render(compared),
  };
}

/** A decoder for parts of a state that also resolves shared references. */
const stateDecoder = (at: RunContext, loaded: LoadedCheckpoint): Decode =>
  namingDamagedCheckpoint(loaded.record, () => decodeWithin(loaded.root.state, decodeOptions(at, loaded)));
