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
import { changeApproval } from './change-approval.ts';
import { type FoundApproval, findApproval } from './find-approval.ts';
import { createNotification, type LinkOptions, type Notify } from './notification.ts';

/** Notifies approvers, and makes the links that it sends them. */
export interface Notifier extends LinkOptions {
  readonly notify: Notify;
}

/**
 * Does everything that is due for one approval, and returns what it did. Without a notifier, notifications are dropped;
 * with `unknown`, they stay due, and a process that has the agent sends them. Throws what `notify` threw: the
 * notification is then due again later. Nothing is due for an approval that is gone.
 */
export async function processDueApproval(
  at: RunContext,
  id: string,
  notifier: Notifier | 'unknown' | undefined,
): Promise<readonly DueAction[]> {
  const done: DueAction[] = [];
  const canNotify = notifier !== 'unknown';
  try {
    for (;;) {
      let action: DueAction | undefined;
      const found = await changeApproval(await findApproval(at, id), ({ approval: { meta } }) => {
        action = dueAction(meta, at.now(), canNotify);
        return action === undefined ? meta : ACTIONS[action](meta, at.now(), notifier !== undefined);
      });
      if (action === undefined) return done;
      if (action === 'notify' && notifier && canNotify) await notifyApprovers(found, notifier);
      done.push(action);
    }
  } catch (error) {
    if (isWaitstateError(error, 'APPROVAL_NOT_FOUND')) return done;
    throw error;
  }
}

type Transition = (meta: ApprovalMeta, now: number, hasNotifier: boolean) => ApprovalMeta;

/** How each action changes an approval. An attempt to notify is recorded first, so that only one process notifies. */
const ACTIONS: Readonly<Record<DueAction, Transition>> = {
  expire,
  escalate,
  remind,
  notify: (meta, now, hasNotifier) => (hasNotifier ? startNotifyAttempt(meta, now) : clearNotification(meta)),
};

async function notifyApprovers(found: FoundApproval, { notify, ...links }: Notifier): Promise<void> {
  const { at, approval } = found;
  const notification = await createNotification(found, links);
  await notify(notification);
  await changeApproval(await findApproval(at, approval.id), ({ approval: { meta } }) =>
    meta.status === 'PENDING' ? markNotified(meta, approval.meta, at.now()) : meta,
  );
}
