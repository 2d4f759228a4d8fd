import {
  history,
  parse,
  type RunContext,
  readCheckpoint,
  scanRecords,
  toCheckpointSummary,
} from '../../checkpoints/engine.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { readContentText, readVotes } from '../../runtime/approvals/approval-content.ts';
import { findApproval } from '../../runtime/approvals/find-approval.ts';
import { versionKey } from '../../storage/keys.ts';
import { toApprovalDocument } from '../approval-document.ts';
import { EVIDENCE_FORMAT, type Evidence, type EvidenceCheckpoint, sealOf, sha256, statements } from './evidence.ts';

const MAX_CHECKPOINTS = 200;

/** Creates the evidence of an approval. An encrypted run needs its key; the bundle has decrypted content. */
export async function createEvidence(at: RunContext, id: string): Promise<Evidence> {
  const found = await findApproval(at, id);
  const { approval } = found;
  const cipher = await found.cipher();
  // Refuses content that does not match the hash of the approval.
  await toApprovalDocument(found);
  const text = await readContentText(at, cipher, approval.stored);
  const { votes, ...request } = approval.meta;
  const read = readVotes(at, cipher, approval);
  const { requestedAt, endedAt = at.now() } = request;
  const { checkpoints, hasMore } = await checkpointsAround(at, requestedAt, endedAt);
  const bundle = {
    format: EVIDENCE_FORMAT,
    createdAt: new Date(at.now()).toISOString(),
    tenant: at.tenant,
    run: at.run,
    approval: id,
    encrypted: cipher.isEncrypted,
    ...statements(cipher.isEncrypted),
    shown: { text, document: parse(text), sha256: sha256(text), contentHash: request.contentHash },
    request,
    // Every field of a vote is carried along, also those that this code does not know.
    votes: votes.map(({ content: _content, ...vote }, i) => {
      const { comment, edits, value } = read[i] ?? {};
      return { ...vote, through: vote.as ?? vote.for ?? vote.by, ...omitUndefined({ comment, edits, value }) };
    }),
    checkpoints,
    hasMore,
    ...omitUndefined({ agent: request.agent }),
  };
  // As it is in the file: without undefined fields.
  const written = JSON.parse(JSON.stringify(bundle));
  return { ...written, seal: sealOf(written) };
}

/** The checkpoints from the one before the request to the one after its end. */
async function checkpointsAround(at: RunContext, from: number, to: number) {
  let first = 1;
  let last = 1;
  for await (const { version, savedAt } of history(at, {})) {
    if (savedAt.getTime() < from) first = version;
    last = version;
    if (savedAt.getTime() > to) break;
  }
  const checkpoints: EvidenceCheckpoint[] = [];
  const end = Math.min(last, first + MAX_CHECKPOINTS - 1);
  for await (const stored of scanRecords(at, { from: versionKey(first), to: versionKey(end) })) {
    const { version, hash, previousHash, savedAt, status, step, pruned } = toCheckpointSummary(
      at.run,
      readCheckpoint(stored),
    );
    checkpoints.push({
      version,
      hash,
      savedAt: savedAt.toISOString(),
      status,
      meta: stored.meta,
      pruned,
      ...omitUndefined({ previousHash, step, body: stored.body && Buffer.from(stored.body).toString('base64') }),
    });
  }
  return { checkpoints, hasMore: end < last };
}
