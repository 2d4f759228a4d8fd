import { createHash } from 'node:crypto';
import {
  metaOnlyRecord,
  type RunCipher,
  type RunContext,
  scanRecords,
  sideRecord,
  withMeta,
} from '../../checkpoints/engine.ts';
import {
  type ApprovalMeta,
  type ApprovalRequest,
  checkApprovalRequest,
  dueAt,
  newApproval,
  type Person,
  withdraw,
} from '../../core/approval.ts';
import { hasVoted } from '../../core/approval-votes.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { checkRequester, isExcluded } from '../../core/requester.ts';
import {
  APPROVAL_KEYS,
  approvalIdFromKey,
  approvalKey,
  dueGroup,
  inboxGroup,
  inboxKey,
  timeOrder,
} from '../../storage/keys.ts';
import type { ListEntries, StoredRecord, Write } from '../../storage/ports.ts';
import { hashContent, readContentText } from './approval-content.ts';
import { type Approval, readApprovalMeta } from './approval-meta.ts';

/**
 * The id of an approval: the id of its operation, the number of rewinds and the number of the request. A run that was
 * rewound asks again, because earlier decisions were made on another history.
 */
export const toApprovalId = (
  id: string,
  { rewinds = 0, requestNumber }: { readonly rewinds?: number | undefined; readonly requestNumber: number },
): string => id + (rewinds > 0 ? `~r${rewinds}` : '') + (requestNumber > 1 ? `~${requestNumber}` : '');

/** Parses the record of an approval. */
export function readApproval(stored: StoredRecord): Approval {
  return { id: approvalIdFromKey(stored.key) ?? '', meta: readApprovalMeta(stored), stored };
}

/** Reads approvals in the order of the ids; ids that do not exist are left out. */
export async function readApprovals(at: RunContext, ids: readonly string[]): Promise<readonly Approval[]> {
  const keys = [...new Set(ids)].map(approvalKey);
  const found = new Map<string, StoredRecord>();
  for (let from = 0; from < keys.length; from += MAX_KEYS) {
    for (const stored of await at.records.read(at.partition, keys.slice(from, from + MAX_KEYS)))
      found.set(stored.key, stored);
  }
  return keys.flatMap((key) => found.get(key) ?? []).map(readApproval);
}

const MAX_KEYS = 100;

/** All approvals of a run, in the order of their ids. */
export const readAllApprovals = (at: RunContext): Promise<readonly Approval[]> =>
  Array.fromAsync(scanRecords(at, APPROVAL_KEYS), readApproval);

/** Where an approval request comes from. */
export interface ApprovalOrigin {
  readonly agent?: string | undefined;
  /** The name in the agent's code. */
  readonly name: string;
  /** 1 for the first request, 2 when people are asked again, and so on. */
  readonly requestNumber: number;
  /** The facts of the previous request, and the current ones. */
  readonly changed?: { readonly before: unknown; readonly after: unknown } | undefined;
  /** The person who requested the run. */
  readonly requestedBy?: Person | undefined;
}

/** The writes that request an approval: its record with the inbox entry of the first approver, and the other entries. */
export async function createApprovalWrites(
  at: RunContext,
  cipher: RunCipher,
  id: string,
  request: ApprovalRequest,
  { agent, name, requestNumber, changed, requestedBy }: ApprovalOrigin,
): Promise<readonly Write[]> {
  const terms = checkApprovalRequest(request);
  checkRequester(name, terms, requestedBy);
  const { title, show, facts, answerSchema, editsSchema } = request;
  const value = omitUndefined({ title, show, facts, changed, answerSchema, editsSchema });
  const kept = await sideRecord(at, cipher, approvalKey(id), {}, value);
  // The hash of exactly the text that is stored, so that the record proves what people saw.
  const contentHash = hashContent(cipher, await readContentText(at, cipher, kept));
  const meta = newApproval({ agent, name, requestNumber, contentHash, requestedBy }, terms, at.now());
  const inboxes = inboxWrites(at, id, undefined, meta);
  return [{ put: withMeta(kept, meta, approvalListEntries(at, meta)), when: 'absent' }, ...inboxes];
}

/** The writes that change an approval: first its record, conditional on the revision, then its inbox entries. */
export const changeApprovalWrites = (
  at: RunContext,
  { id, meta, stored }: Approval,
  changed: ApprovalMeta,
): readonly Write[] => [
  { put: withMeta(stored, changed, approvalListEntries(at, changed)), when: { revision: stored.revision } },
  ...inboxWrites(at, id, meta, changed),
];

/** The writes that withdraw the pending ones of the given approvals. */
export const withdrawApprovalWrites = (
  at: RunContext,
  approvals: readonly Approval[],
  reason: string,
): readonly Write[] =>
  approvals
    .filter(({ meta }) => meta.status === 'PENDING')
    .flatMap((approval) => changeApprovalWrites(at, approval, withdraw(approval.meta, reason, at.now())));

/** The approvers who have it in their inbox: those who can vote and have not voted on what is decided on now. */
const remainingApprovers = (meta: ApprovalMeta): readonly string[] =>
  meta.status === 'PENDING'
    ? meta.approvers.filter((approver) => !hasVoted(meta, approver) && !isExcluded(meta, approver))
    : [];

function approvalListEntries({ tenant, partition }: RunContext, meta: ApprovalMeta): ListEntries {
  const due = dueAt(meta);
  const [first] = meta.approvers;
  return {
    ...(first !== undefined && remainingApprovers(meta).includes(first) && { owner: inboxEntry(tenant, first, meta) }),
    ...(due !== undefined && { due: { group: dueGroup(partition), order: timeOrder(due) } }),
  };
}

const inboxEntry = (tenant: string, approver: string, { requestedAt }: ApprovalMeta) => ({
  group: inboxGroup(tenant, approver),
  order: timeOrder(requestedAt),
});

/** The record of the approval is the inbox entry of the first approver; every other approver has a record. */
function inboxWrites(at: RunContext, id: string, before: ApprovalMeta | undefined, after: ApprovalMeta): Write[] {
  const [first] = after.approvers;
  const had = before ? remainingApprovers(before) : [];
  const has = remainingApprovers(after);
  const record = (approver: string) => inboxRecord(at, id, approver, after);
  const added = has.filter((approver) => approver !== first && !had.includes(approver)).map(record);
  const gone = had.filter((approver) => approver !== first && !has.includes(approver)).map(record);
  return [
    ...added.map((put): Write => ({ put, when: 'absent' })),
    ...gone.map(({ partition, key, revision }): Write => ({ remove: { partition, key }, when: { revision } })),
  ];
}

function inboxRecord(at: RunContext, id: string, approver: string, meta: ApprovalMeta): StoredRecord {
  const { requestedAt, requestNumber } = meta;
  const record = metaOnlyRecord(
    at,
    inboxKey(id, approver),
    { requestedAt, requestNumber },
    { owner: inboxEntry(at.tenant, approver, meta) },
  );
  // Derived from the content, so that the record can be removed without reading it.
  const content = `${record.partition}\n${record.key}\n${record.meta}`;
  return { ...record, revision: createHash('sha256').update(content).digest('base64url').slice(0, 16) };
}
