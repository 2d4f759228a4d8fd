import { type HeadMeta, type HeadRecord, retryOnConflict } from '../../checkpoints/engine.ts';
import type { ApprovalMeta } from '../../core/approval.ts';
import { WaitstateError } from '../../core/errors.ts';
import { ConditionFailedError } from '../../storage/ports.ts';
import { wakeRun } from '../wake/wake.ts';
import type { Approval } from './approval-meta.ts';
import { changeApprovalWrites } from './approval-records.ts';
import { approvalNotFound, type FoundApproval, findApproval, isRunGone } from './find-approval.ts';

/** An approval after an operation that may change it. */
export interface ChangedApproval extends FoundApproval {
  /** Whether this operation wrote the change; false when there was nothing to change. */
  readonly isChanged: boolean;
}

/**
 * Changes an approval with optimistic concurrency: on a conflict, reads the approval again and applies `change` to what
 * it found. A change that ends the approval wakes the run in the same transaction.
 */
export async function changeApproval(
  found: FoundApproval,
  change: (current: FoundApproval) => ApprovalMeta | Promise<ApprovalMeta>,
): Promise<ChangedApproval> {
  return retryOnConflict(async (attempt) => {
    const current = attempt === 1 ? found : await findAgain(found);
    const meta = await change(current);
    if (meta === current.approval.meta) return { ...current, isChanged: false };
    const head = await commitChange(current, meta);
    return { ...current, head, approval: { ...current.approval, meta }, isChanged: true };
  });
}

/** Reads an approval again; the same ids in a run that was deleted and started again are another approval. */
async function findAgain({ at, approval: { id }, head: { uid } }: FoundApproval): Promise<FoundApproval> {
  const again = await findApproval(at, id);
  if (again.head.uid !== uid) throw approvalNotFound(at, id);
  return again;
}

/** Writes a change; returns the head after it. */
async function commitChange({ at, approval, head, headRecord }: FoundApproval, meta: ApprovalMeta): Promise<HeadMeta> {
  const writes = changeApprovalWrites(at, approval, meta);
  try {
    if (meta.status !== 'PENDING') {
      const event = async ({ meta: { work } }: HeadRecord) => ({
        writes,
        work: { approvals: withoutApproval(work?.approvals, approval.id) },
      });
      return (await wakeRun(at, event, headRecord)) ?? head;
    }
    await at.records.commit(writes);
    return head;
  } catch (error) {
    if (error instanceof ConditionFailedError) throw approvalConflict(approval, error);
    throw isRunGone(error) ? approvalNotFound(at, approval.id, error) : error;
  }
}

function withoutApproval(pending: readonly string[] = [], ended: string): readonly string[] | undefined {
  const rest = pending.filter((id) => id !== ended);
  return rest.length > 0 ? rest : undefined;
}

const approvalConflict = ({ id }: Approval, cause: unknown): WaitstateError =>
  new WaitstateError('STALE_VERSION', `Approval "${id}" was changed at the same time. Try again.`, {
    cause,
  });
