import { isWaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { toCheckpoint } from './content.ts';
import type { RunContext } from './context.ts';
import { applyEdit, type Edit } from './draft.ts';
import { checkSaveFields } from './fields/check-save-fields.ts';
import type { SaveFields } from './fields/save-fields.ts';
import { loadCheckpoint } from './load.ts';
import type { LoadedCheckpoint } from './loaded-checkpoint.ts';
import { retryOnConflict } from './retry-on-conflict.ts';
import { saveAfter } from './save.ts';

/** The fields of an `update`. A repeated `writeId` is recognized only while it belongs to the newest checkpoint. */
export interface UpdateFields<State = unknown> extends Omit<SaveFields, 'parent'> {
  /** The state for the edit when the run does not exist; the update then creates it. @default the run must exist */
  readonly initial?: State;
}

/** Edits the newest state and saves it; on a conflict, the edit runs again on the new state. */
export async function update<State>(
  at: RunContext,
  edit: Edit<State>,
  fields: UpdateFields<State>,
): Promise<LoadedCheckpoint> {
  if (typeof edit !== 'function') throw invalidInput('The edit', 'a function that gets a draft of the state', edit);
  await checkSaveFields(fields);
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
      // The cached state may be outdated, and the newest state may pass where the cached one failed.
      const newest = await loadNewestOrNone(at, fields);
      if (newest?.record.hash === cached.record.hash) throw error;
      return editAndSave(newest);
    }
  });
}

// Errors that are thrown before anything is written.
const PRE_WRITE_ERRORS = ['TRANSITION_REFUSED', 'RUN_EXPIRED'] as const;

/** The newest checkpoint; undefined when there is no run and the update may create it. */
async function loadNewestOrNone(at: RunContext, fields: UpdateFields): Promise<LoadedCheckpoint | undefined> {
  try {
    return await loadCheckpoint(at);
  } catch (error) {
    if (isWaitstateError(error, 'RUN_NOT_FOUND') && fields.initial !== undefined) return undefined;
    throw error;
  }
}
