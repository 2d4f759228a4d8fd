import type { RunContext } from '../../checkpoints/engine.ts';
import {
  type ApprovalMeta,
  clearNotification,
  type DueAction,
  dueAction,
  escalate,
  expire,
  markNotified,
  remind,
  startNotifyAttempt,
} from '../../core/approval.ts';
import { isWaitstateError } from '../../core/errors.ts';
import { changeApproval, type FoundApproval } from './change.ts';
import { createNotification, type LinkOptions, type Notify } from './notification.ts';

/** How people are told. */
export interface Notifier extends LinkOptions {
  readonly notify: Notify;
}

/**
 * Does all that is due of one approval, and says what that was. When people could not be told, throws what `tell` threw:
 * then it is due again later. Of an approval that is gone, nothing is due.
 */
export async function processDueApproval(
  at: RunContext,
  id: string,
  people: Notifier | 'unknown' | undefined,
): Promise<readonly DueAction[]> {
  const done: DueAction[] = [];
  try {
    for (;;) {
      let action: DueAction | undefined;
      const found = await changeApproval(at, id, ({ approval: { meta } }) => {
        action = dueAction(meta, at.now());
        return action === undefined ? meta : ACTIONS[action](meta, at.now(), people);
      });
      if (action === undefined) return done;
      const isTold = action === 'tell' && people !== undefined;
      if (isTold && people !== 'unknown') await tellPeople(at, found, people);
      // Who is left to others is put off, and that is all.
      if (!isTold || people !== 'unknown') done.push(action);
    }
  } catch (error) {
    if (isWaitstateError(error, 'APPROVAL_NOT_FOUND')) return done;
    throw error;
  }
}

/** What each action makes of an approval. To tell is noted before it is done: two who look at once tell only once. */
const ACTIONS: Readonly<Record<DueAction, (meta: ApprovalMeta, now: number, people: unknown) => ApprovalMeta>> = {
  expire,
  escalate,
  remind,
  tell: (meta, now, people) => (people === undefined ? clearNotification(meta) : startNotifyAttempt(meta, now)),
};

async function tellPeople(at: RunContext, found: FoundApproval, { notify: tell, ...links }: Notifier): Promise<void> {
  const notice = await createNotification(at, found, links);
  await tell(notice);
  await changeApproval(at, found.approval.id, ({ approval: { meta } }) =>
    meta.status === 'PENDING' ? markNotified(meta, notice.kind, at.now()) : meta,
  );
}
