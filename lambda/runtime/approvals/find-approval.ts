import {
  checkLive,
  cipherFor,
  type HeadMeta,
  type HeadRecord,
  type RunCipher,
  type RunContext,
  readHead,
  readLiveHead,
} from '../../checkpoints/engine.ts';
import type { Person } from '../../core/approval.ts';
import { isWaitstateError, RUN_GONE_CODES, WaitstateError } from '../../core/errors.ts';
import { approvalKey, HEAD_KEY } from '../../storage/keys.ts';
import type { Approval } from './approval-meta.ts';
import { readAllApprovals, readApproval } from './approval-records.ts';

/** An approval and the run that it belongs to. Every operation on approvals returns one; callers render it. */
export interface FoundApproval {
  readonly at: RunContext;
  readonly approval: Approval;
  /** The head of the run: as it was read, or as this operation wrote it. */
  readonly head: HeadMeta;
  /** The head as it was read; a write is conditional on its revision. */
  readonly headRecord: HeadRecord;
  /** Loads the key of an encrypted run. An approval can expire or be withdrawn without it. */
  readonly cipher: () => Promise<RunCipher>;
  /** The person for whom the owner of the inbox or of the link answers. */
  readonly for?: Person;
}

/** Reads an approval and the head of its run in one request; throws APPROVAL_NOT_FOUND also when the run is gone. */
export async function findApproval(at: RunContext, id: string): Promise<FoundApproval> {
  const key = approvalKey(id);
  const records = await at.records.read(at.partition, [HEAD_KEY, key]);
  const stored = records.find((record) => record.key === key);
  const storedHead = records.find((record) => record.key === HEAD_KEY);
  if (!stored || !storedHead) throw approvalNotFound(at, id);
  const head = readHead(storedHead);
  try {
    await checkLive(at, head.meta);
  } catch (error) {
    throw isRunGone(error) ? approvalNotFound(at, id, error) : error;
  }
  return toFoundApproval(at, head, readApproval(stored));
}

/** All approvals of a run, pending and ended. */
export async function findApprovals(at: RunContext): Promise<readonly FoundApproval[]> {
  const head = await readLiveHead(at);
  return (await readAllApprovals(at)).map((approval) => toFoundApproval(at, head, approval));
}

const toFoundApproval = (at: RunContext, head: HeadRecord, approval: Approval): FoundApproval => ({
  at,
  approval,
  head: head.meta,
  headRecord: head,
  cipher: () => cipherFor(at, head.meta),
});

/** Whether an error says that the run does not exist, was deleted or has expired. */
export const isRunGone = (error: unknown): boolean => isWaitstateError(error, ...RUN_GONE_CODES);

/** The error for an approval that does not exist, or whose run is gone. */
export const approvalNotFound = ({ run, tenant }: RunContext, id: string, cause?: unknown): WaitstateError =>
  new WaitstateError(
    'APPROVAL_NOT_FOUND',
    `Run "${run}" of tenant "${tenant}" has no approval "${id}", or the run no longer exists. \`approvals\` of the run and the inbox list pending approvals.`,
    { cause },
  );
