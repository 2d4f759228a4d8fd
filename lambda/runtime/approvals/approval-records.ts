import { createHash } from 'node:crypto';
import type { RunCipher, RunContext } from '../../checkpoints/engine.ts';
import { metaOnlyRecord, scanRecords, sideRecord, withMeta } from '../../checkpoints/engine.ts';
import {
  type ApprovalMeta,
  type ApprovalRequest,
  checkApprovalRequest,
  dueAt,
  newApproval,
  withdraw,
} from '../../core/approval.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
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
import { contentHash, readContentText } from './approval-content.ts';
import { readApprovalMeta } from './approval-meta.ts';

/** An approval as it is stored. */
export interface Approval {
  readonly id: string;
  readonly meta: ApprovalMeta;
  readonly stored: StoredRecord;
}

/**
 * The id of an approval: that of what asks, how often its run was rewound and how often it asks. A run that was rewound
 * asks anew: what was answered then was answered to another history.
 */
export const toApprovalId = (
  id: string,
  { rewinds = 0, ask }: { readonly rewinds?: number | undefined; readonly ask: number },
): string => id + (rewinds > 0 ? `~r${rewinds}` : '') + (ask > 1 ? `~${ask}` : '');

/** Parses the record of an approval. */
export function readApproval(stored: StoredRecord): Approval {
  return { id: approvalIdFromKey(stored.key) ?? '', meta: readApprovalMeta(stored), stored };
}

/** Those of the approvals that there are, in the order of the ids. */
export async function readApprovals(at: RunContext, ids: readonly string[]): Promise<readonly Approval[]> {
  const keys = [...new Set(ids)].map(approvalKey);
  const found = new Map<string, StoredRecord>();
  for (let from = 0; from < keys.length; from += MOST_KEYS) {
    for (const stored of await at.records.read(at.partition, keys.slice(from, from + MOST_KEYS)))
      found.set(stored.key, stored);
  }
  return keys.flatMap((key) => found.get(key) ?? []).map(readApproval);
}

const MOST_KEYS = 100;

/** All approvals of a run, in the order of their ids. */
export const readAllApprovals = (at: RunContext): Promise<readonly Approval[]> =>
  Array.fromAsync(scanRecords(at, APPROVAL_KEYS), readApproval);

/** What an approval is about, beside its request. */
export interface ApprovalOrigin {
  readonly agent?: string | undefined;
  /** What the code calls it. */
  readonly name: string;
  /** 1, 2, …: how often it is asked. */
  readonly ask: number;
  /** What the facts were when it was asked before, and what they are now. */
  readonly changed?: { readonly before: unknown; readonly after: unknown } | undefined;
}

/** The writes that ask: the approval with its first place in an inbox, and one record for each further approver. */
export async function createApprovalWrites(
  at: RunContext,
  cipher: RunCipher,
  id: string,
  request: ApprovalRequest,
  { agent, name, ask, changed }: ApprovalOrigin,
): Promise<readonly Write[]> {
  const terms = checkApprovalRequest(request);
  const { title, show, facts } = request;
  const value = omitUndefined({ title, show, facts, changed });
  const kept = await sideRecord(at, cipher, approvalKey(id), {}, value);
  // Of the very text that was stored, so that it can be proven from the record.
  const shown = contentHash(cipher, await readContentText(at, cipher, kept));
  const meta = newApproval({ agent, name, ask, shown }, terms, at.now());
  const inboxes = inboxWrites(at, id, undefined, meta);
  return [{ put: withMeta(kept, meta, placesOf(at, meta)), when: 'absent' }, ...inboxes];
}

/** The writes that change an approval: it on its revision, first, and what comes into inboxes or leaves them. */
export const changeApprovalWrites = (
  at: RunContext,
  { id, meta, stored }: Approval,
  changed: ApprovalMeta,
): readonly Write[] => [
  { put: withMeta(stored, changed, placesOf(at, changed)), when: { revision: stored.revision } },
  ...inboxWrites(at, id, meta, changed),
];

/** The writes that withdraw those of the approvals that are open. */
export const withdrawApprovalWrites = (at: RunContext, approvals: readonly Approval[], why: string): readonly Write[] =>
  approvals
    .filter(({ meta }) => meta.status === 'PENDING')
    .flatMap((approval) => changeApprovalWrites(at, approval, withdraw(approval.meta, why, at.now())));

/** In whose inboxes an approval is: of all who can still answer. */
const inboxesOf = ({ status, approvers, votes }: ApprovalMeta): readonly string[] =>
  status === 'PENDING' ? approvers.filter((approver) => !votes.some(({ by }) => by === approver)) : [];

function placesOf({ tenant, partition }: RunContext, meta: ApprovalMeta): ListEntries {
  const due = dueAt(meta);
  const [first] = meta.approvers;
  return {
    ...(first !== undefined && inboxesOf(meta).includes(first) && { owner: inboxPlace(tenant, first, meta) }),
    ...(due !== undefined && { due: { group: dueGroup(partition), order: timeOrder(due) } }),
  };
}

const inboxPlace = (tenant: string, approver: string, { askedAt }: ApprovalMeta) => ({
  group: inboxGroup(tenant, approver),
  order: timeOrder(askedAt),
});

/** The first approver's place is that of the approval itself; each other one has a record. */
function inboxWrites(at: RunContext, id: string, before: ApprovalMeta | undefined, after: ApprovalMeta): Write[] {
  const [first] = after.approvers;
  const had = before ? inboxesOf(before) : [];
  const has = inboxesOf(after);
  const record = (approver: string) => inboxRecord(at, id, approver, after);
  const added = has.filter((approver) => approver !== first && !had.includes(approver)).map(record);
  const gone = had.filter((approver) => approver !== first && !has.includes(approver)).map(record);
  return [
    ...added.map((put): Write => ({ put, when: 'absent' })),
    ...gone.map(({ partition, key, revision }): Write => ({ remove: { partition, key }, when: { revision } })),
  ];
}

function inboxRecord(at: RunContext, id: string, approver: string, meta: ApprovalMeta): StoredRecord {
  const { askedAt, ask } = meta;
  const record = metaOnlyRecord(
    at,
    inboxKey(id, approver),
    { askedAt, ask },
    { owner: inboxPlace(at.tenant, approver, meta) },
  );
  // Made of what it says, so that it can be removed without being read.
  const said = `${record.partition}\n${record.key}\n${record.meta}`;
  return { ...record, revision: createHash('sha256').update(said).digest('base64url').slice(0, 16) };
}
