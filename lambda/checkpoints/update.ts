import { isHoldpointError } from '../core/errors.ts';
import { checkpointOf } from './content.ts';
import type { RunContext } from './context.ts';
import { type Edit, edited } from './draft.ts';
import { type Opened, open } from './open.ts';
import { retried } from './retry.ts';
import { checkFields, type SaveFields, saveOn } from './save.ts';

/** What a checkpoint made by `update` is called and what belongs to it. */
export interface UpdateFields<State = unknown> extends Omit<SaveFields, 'parent'> {
  /** The state that a new run begins with, as its first checkpoint. @default there must be a run */
  readonly initial?: State;
}

/** Saves what the edit makes of the newest state; when somebody else was faster, the edit runs again on theirs. */
export async function update<State>(at: RunContext, edit: Edit<State>, fields: UpdateFields<State>): Promise<Opened> {
  checkFields(fields);
  const { initial, ...input } = fields;
  let saving = false;
  const editOn = async (opened: Opened): Promise<Opened> => {
    if (opened.record.meta.writeId === fields.writeId) return opened;
    const checkpoint = checkpointOf<State>(at, opened);
    const state = await edited(checkpoint.state, edit, checkpoint);
    saving = true;
    return saveOn(at, opened, { ...input, state });
  };
  return retried(async (attempt) => {
    const known = attempt === 1 ? at.cache.fresh(at.partition, at.now()) : undefined;
    if (!known) return editOn(await openOrBegin(at, fields));
    try {
      return await editOn(known);
    } catch (error) {
      if (saving && !REFUSALS.some((code) => isHoldpointError(error, code))) throw error;
      // What the edit, or we, found wrong with what this process knew of the run may be right with what it is now.
      const newest = await openOrBegin(at, fields);
      if (newest.record.hash === known.record.hash) throw error;
      return editOn(newest);
    }
  });
}

// For what a checkpoint is refused before anything of it is written.
const REFUSALS = ['TRANSITION_REFUSED', 'RUN_EXPIRED'] as const;

async function openOrBegin(at: RunContext, fields: UpdateFields): Promise<Opened> {
  try {
    return await open(at);
  } catch (error) {
    if (!isHoldpointError(error, 'RUN_NOT_FOUND') || !('initial' in fields)) throw error;
    const { agent, owner, tags, retentionSeconds, initial: state } = fields;
    const given = { agent, owner, tags, retentionSeconds };
    return saveOn(at, undefined, { ...given, state });
  }
}
