import { isWaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { toCheckpoint } from './content.ts';
import type { RunContext } from './context.ts';
import { applyEdit, type Edit } from './draft.ts';
import { loadCheckpoint } from './load.ts';
import type { LoadedCheckpoint } from './loaded-checkpoint.ts';
import { retryOnConflict } from './retry-on-conflict.ts';
import { checkSaveFields, type SaveFields, saveAfter } from './save.ts';

/**
 * What a checkpoint made by `update` is called and what belongs to it. A `writeId` is recognised while it is that of the
 * newest checkpoint.
 */
export interface UpdateFields<State = unknown> extends Omit<SaveFields, 'parent'> {
  /** What the edit gets where there is no run: the update then begins it. @default there must be a run */
  readonly initial?: State;
}

/** Saves what the edit makes of the newest state; when somebody else was faster, the edit runs again on theirs. */
export async function update<State>(
  at: RunContext,
  edit: Edit<State>,
  fields: UpdateFields<State>,
): Promise<LoadedCheckpoint> {
  if (typeof edit !== 'function') throw invalidInput('The edit', 'a function that gets a draft of the state', edit);
  checkSaveFields(fields);
  const { initial, ...input } = fields;
  let isSaving = false;
  const editAndSave = async (loaded: LoadedCheckpoint | undefined): Promise<LoadedCheckpoint> => {
    if (loaded && loaded.record.meta.writeId === fields.writeId) return loaded;
    const checkpoint = loaded && toCheckpoint<State>(at, loaded);
    const state = await applyEdit((checkpoint ? checkpoint.state : initial) as State, edit, checkpoint);
    isSaving = true;
    return saveAfter(at, loaded, { ...input, state });
  };
  return retryOnConflict(async (attempt) => {
    const cached = attempt === 1 ? at.cache.fresh(at.partition, at.now()) : undefined;
    if (!cached) return editAndSave(await loadNewestOrNone(at, fields));
    try {
      return await editAndSave(cached);
    } catch (error) {
      if (isSaving && !PRE_WRITE_ERRORS.some((code) => isWaitstateError(error, code))) throw error;
      // What the edit, or we, found wrong with what this process knew of the run may be right with what it is now.
      const newest = await loadNewestOrNone(at, fields);
      if (newest?.record.hash === cached.record.hash) throw error;
      return editAndSave(newest);
    }
  });
}

// For what a checkpoint is refused before anything of it is written.
const PRE_WRITE_ERRORS = ['TRANSITION_REFUSED', 'RUN_EXPIRED'] as const;

/** The newest checkpoint; undefined where there is no run and one may begin. */
async function loadNewestOrNone(at: RunContext, fields: UpdateFields): Promise<LoadedCheckpoint | undefined> {
  try {
    return await loadCheckpoint(at);
  } catch (error) {
    if (isWaitstateError(error, 'RUN_NOT_FOUND') && fields.initial !== undefined) return undefined;
    throw error;
  }
}
