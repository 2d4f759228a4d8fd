import { decodeOptions } from '../content.ts';
import type { RunContext } from '../context.ts';
import { compare } from '../document/compare.ts';
import { type Decode, decodeWithin } from '../document/decode.ts';
import { render } from '../document/render.ts';
import { namingDamagedCheckpoint } from '../format/chain.ts';
import { loadCheckpoint } from '../load.ts';
import type { CheckpointSelector, LoadedCheckpoint } from '../loaded-checkpoint.ts';

/** What changed from one state to another, by path. */
export interface Difference {
  readonly added: readonly { readonly path: string; readonly value: unknown }[];
  readonly removed: readonly { readonly path: string; readonly value: unknown }[];
  readonly changed: readonly { readonly path: string; readonly before: unknown; readonly after: unknown }[];
  /** The same for people: a line for each change. */
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

/** What decodes parts of a state: an object that occurs in several places is found wherever it is asked for. */
const stateDecoder = (at: RunContext, loaded: LoadedCheckpoint): Decode =>
  namingDamagedCheckpoint(loaded.record, () => decodeWithin(loaded.root.state, decodeOptions(at, loaded)));
