import { isWaitstateError } from '../core/errors.ts';
import { refused } from '../core/invalid-input.ts';
import { checkpointOf } from './content.ts';
import type { RunContext } from './context.ts';
import { type Edit, edited } from './draft.ts';
import { type Opened, open } from './load.ts';
import { retried } from './retry-on-conflict.ts';
import { checkFields, type SaveFields, saveOn } from './save.ts';

/**
 * What a checkpoint made by `update` is called and what belongs to it. A `writeId` is recognised while it is that of the
 * newest checkpoint.
 */
export interface UpdateFields<State = unknown> extends Omit<SaveFields, 'parent'> {
  /** What the edit gets where there is no run: the update then begins it. @default there must be a run */
  readonly initial?: State;
}

/** Saves what the edit makes of the newest state; when somebody else was faster, the edit runs again on theirs. */
export async function update<State>(at: RunContext, edit: Edit<State>, fields: UpdateFields<State>): Promise<Opened> {
  if (typeof edit !== 'function') throw refused('The edit', 'a function that gets a draft of the state', edit);
  checkFields(fields);
  const { initial, ...input } = fields;
  let saving = false;
  const editOn = async (opened: Opened | undefined): Promise<Opened> => {
    if (opened && opened.record.meta.writeId === fields.writeId) return opened;
    const checkpoint = opened && checkpointOf<State>(at, opened);
    const state = await edited((checkpoint ? checkpoint.state : initial) as State, edit, checkpoint);
    saving = true;
    return saveOn(at, opened, { ...input, state });
  };
  return retried(async (attempt) => {
    const known = attempt === 1 ? at.cache.fresh(at.partition, at.now()) : undefined;
    if (!known) return editOn(await newestUnlessNew(at, fields));
    try {
      return await editOn(known);
    } catch (error) {
      if (saving && !REFUSALS.some((code) => isWaitstateError(error, code))) throw error;
      // What the edit, or we, found wrong with what this process knew of the run may be right with what it is now.
      const newest = await newestUnlessNew(at, fields);
      if (newest?.record.hash === known.record.hash) throw error;
      return editOn(newest);
    }
  });
}

// For what a checkpoint is refused before anything of it is written.
const REFUSALS = ['TRANSITION_REFUSED', 'RUN_EXPIRED'] as const;

/** The newest checkpoint; undefined where there is no run and one may begin. */
async function newestUnlessNew(at: RunContext, fields: UpdateFields): Promise<Opened | undefined> {
  try {
    return await open(at);
  } catch (error) {
    if (isWaitstateError(error, 'RUN_NOT_FOUND') && fields.initial !== undefined) return undefined;
    throw error;
  }
}
