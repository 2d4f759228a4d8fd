import type { RunContext } from '../../checkpoints/context.ts';
import { cipherFor, type RunCipher } from '../../checkpoints/encryption/run-cipher.ts';
import type { HeadMeta } from '../../checkpoints/format/meta.ts';
import type { HeadRecord } from '../../checkpoints/format/records.ts';
import { readLiveHead } from '../../checkpoints/load.ts';
import { retryOnConflict } from '../../checkpoints/retry-on-conflict.ts';
import type { ApprovalMeta } from '../../core/approval.ts';
import { type ErrorCode, isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { ConditionFailedError } from '../../storage/ports.ts';
import { wakeRun } from '../wake/wake.ts';
import { type Approval, changeApprovalWrites, readAllApprovals, readApprovals } from './approval-records.ts';

/** An approval of a run that is there. */
export interface FoundApproval {
  readonly approval: Approval;
  readonly head: HeadMeta;
  readonly headRecord: HeadRecord;
  /** Asked for only by who opens or closes something: without the key, an approval can still end. */
  readonly cipher: () => Promise<RunCipher>;
}

/** Finds an approval; refuses one of a run that is gone as if it had never been. */
export async function findApproval(at: RunContext, id: string): Promise<FoundApproval> {
  try {
    const [head, [approval]] = await Promise.all([readLiveHead(at), readApprovals(at, [id])]);
    if (!approval) throw approvalNotFound(at, id);
    return foundIn(at, head, approval);
  } catch (error) {
    throw isRunGone(error) ? approvalNotFound(at, id, error) : error;
  }
}

/** All approvals of a run, open and ended. */
export async function findApprovals(at: RunContext): Promise<readonly FoundApproval[]> {
  const head = await readLiveHead(at);
  return (await readAllApprovals(at)).map((approval) => foundIn(at, head, approval));
}

const foundIn = (at: RunContext, head: HeadRecord, approval: Approval): FoundApproval => ({
  ...{ approval, head: head.meta, headRecord: head },
  cipher: () => cipherFor(at, head.meta),
});

/**
 * Changes an approval, however many change it at the same time: the change is made again on what they left. What ends
 * it wakes the run in the same transaction. Gives the approval as it then is.
 */
export async function changeApproval(
  at: RunContext,
  id: string,
  change: (found: FoundApproval) => ApprovalMeta | Promise<ApprovalMeta>,
): Promise<FoundApproval> {
  return retryOnConflict(async () => {
    const found = await findApproval(at, id);
    const meta = await change(found);
    if (meta === found.approval.meta) return found;
    const head = await commitChange(at, found, meta);
    return { ...found, head, approval: { ...found.approval, meta } };
  });
}

/** Writes a change; gives the head as it then is. */
async function commitChange(
  at: RunContext,
  { approval, head, headRecord }: FoundApproval,
  meta: ApprovalMeta,
): Promise<HeadMeta> {
  const writes = changeApprovalWrites(at, approval, meta);
  try {
    if (meta.status !== 'PENDING') {
      const event = async (there: HeadRecord) => ({ writes, work: { approvals: without(there.meta, approval.id) } });
      return (await wakeRun(at, event, headRecord)) ?? head;
    }
    await at.records.commit(writes);
    return head;
  } catch (error) {
    if (error instanceof ConditionFailedError) throw changedMeanwhile(approval, error);
    throw isRunGone(error) ? approvalNotFound(at, approval.id, error) : error;
  }
}

function without({ work }: HeadMeta, id: string): readonly string[] | undefined {
  const rest = work?.approvals?.filter((open) => open !== id) ?? [];
  return rest.length > 0 ? rest : undefined;
}

const GONE: readonly ErrorCode[] = ['RUN_NOT_FOUND', 'RUN_DELETED', 'RUN_EXPIRED'];

const isRunGone = (error: unknown): boolean => isWaitstateError(error, ...GONE);

const approvalNotFound = ({ run, tenant }: RunContext, id: string, cause?: unknown): WaitstateError =>
  new WaitstateError(
    'APPROVAL_NOT_FOUND',
    `Run "${run}" of tenant "${tenant}" has no approval "${id}", or is gone. \`approvals\` of the run and the inbox list those that are open.`,
    { cause },
  );

const changedMeanwhile = ({ id }: Approval, cause: unknown): WaitstateError =>
  new WaitstateError('STALE_VERSION', `Approval "${id}" was changed by somebody else at the same time. Try again.`, {
    cause,
  });
