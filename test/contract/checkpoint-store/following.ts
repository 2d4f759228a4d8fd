import type { Checkpoint } from '../../../lambda/checkpoints/checkpoint.ts';
import type { CheckpointStore } from '../../../lambda/checkpoints/checkpoint-store.ts';

/** A store whose saves follow what it last gave of a run where they name no version, as a careful caller's do. */
export function withTrackedVersions<State>(store: CheckpointStore<State>): CheckpointStore<State> {
  const last = new Map<string, Checkpoint<State>>();
  const noted = async (checkpoint: Promise<Checkpoint<State>>): Promise<Checkpoint<State>> => {
    const given = await checkpoint;
    last.set(given.run, given);
    return given;
  };
  return {
    ...store,
    save(input) {
      const known = 'expectedVersion' in input ? undefined : last.get(input.run);
      return noted(store.save(known ? { ...input, expectedVersion: known } : input));
    },
    load: (run, checkpoint) => (checkpoint === undefined ? noted(store.load(run)) : store.load(run, checkpoint)),
    update: (run, edit, fields) => noted(store.update(run, edit, fields)),
    rewind: (run, to, options) => noted(store.rewind(run, to, options)),
    undo: (run) => noted(store.undo(run)),
    redo: (run) => noted(store.redo(run)),
    fork: (run, options) => noted(store.fork(run, options)),
    async find(run, checkpoint) {
      const found = await store.find(run, checkpoint);
      if (found && checkpoint === undefined) last.set(run, found);
      return found;
    },
  };
}
