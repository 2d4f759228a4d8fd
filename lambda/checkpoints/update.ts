import { setTimeout as sleep } from 'node:timers/promises';
import { isHoldpointError } from '../core/errors.ts';
import type { Checkpoint } from './checkpoint.ts';
import { checkpointOf, currentState } from './content.ts';
import type { RunContext } from './context.ts';
import { edited } from './draft.ts';
import { checkFields, isWritten, type SaveFields, saveOn } from './save.ts';
import { openTail, type Tail } from './tail.ts';

/** Changes a draft of the state in place, or returns a new state. It may be run again when somebody else was faster. */
export type Recipe<State> = (draft: State, checkpoint: Checkpoint<State>) => State | void | Promise<State | void>;

const TRIES = 100;

/** Runs the recipe on the newest state and saves what it makes; when somebody else was faster, on what they made. */
export async function update<State>(at: RunContext, recipe: Recipe<State>, fields: SaveFields): Promise<Tail> {
  checkFields(fields);
  return retried(async (attempt) => {
    const known = attempt === 1 ? at.tails.fresh(at.partition, at.now()) : undefined;
    const tail = known ?? (await openTail(at));
    if (isWritten(tail, fields.writeId)) return tail;
    const state = await edited(currentState(at, tail).state as State, (draft) => recipe(draft, checkpointOf(at, tail)));
    return saveOn(at, tail, { ...fields, state });
  });
}

/** Tries again, a little later each time, as long as somebody else was faster. */
export async function retried<T>(attempt: (attempt: number) => Promise<T>): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await attempt(count);
    } catch (error) {
      if (!isHoldpointError(error, 'STALE_VERSION') || count >= TRIES) throw error;
      await sleep(Math.random() * Math.min(200, 5 * 2 ** Math.min(count, 6)));
    }
  }
}
