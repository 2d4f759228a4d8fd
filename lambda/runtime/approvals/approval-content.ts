import {
  type Doc,
  decode,
  decodeOptions,
  decryptText,
  encryptText,
  type Fields,
  parse,
  type RunCipher,
  type RunContext,
  sideText,
} from '../../checkpoints/engine.ts';
import { isEncryptedText, type Person, type VoteAnswer, type VoteDelegation } from '../../core/approval.ts';
import { currentVotes } from '../../core/approval-votes.ts';
import type { JsonSchema } from '../../core/forms/json-schema.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { sortedJson } from '../../core/sorted-json.ts';
import type { StoredRecord } from '../../storage/ports.ts';
import { type Approval, damagedApproval } from './approval-meta.ts';

/** What approvers see and decide on. */
export interface ApprovalContent {
  readonly title: string;
  readonly show: unknown;
  readonly facts: Readonly<Record<string, unknown>> | undefined;
  readonly changed: { readonly before: unknown; readonly after: unknown } | undefined;
  /** The JSON Schema of the answer to a question. */
  readonly answerSchema: JsonSchema | undefined;
  /** The JSON Schema of edits, if there is one. */
  readonly editsSchema: JsonSchema | undefined;
}

/** The same as documents: JSON in which `$` nodes stand for values that JSON lacks. */
export type ContentDoc = {
  readonly title: string;
  readonly show?: Doc;
  readonly facts?: Fields;
  readonly changed?: { readonly before: Doc; readonly after: Doc };
  readonly answerSchema?: JsonSchema;
  readonly editsSchema?: JsonSchema;
};

/** The hash of what approvers see, in hex: SHA-256 of the stored text, or an HMAC with the key of an encrypted run. */
export const hashContent = (cipher: RunCipher, text: string): string => cipher.hash().update(text).digest('hex');

/** The hash of proposed changes to a request, or of an answer to a question: equal for equal values. */
export const hashProposal = (cipher: RunCipher, contentHash: string, edits: unknown): string =>
  hashContent(cipher, sortedJson([contentHash, edits]));

/** What approvers see, as the text that is stored. */
export async function readContentText(at: RunContext, cipher: RunCipher, record: StoredRecord): Promise<string> {
  const text = await sideText(at, cipher, record);
  if (text === undefined) throw damagedApproval(record, 'its content is missing');
  return text;
}

/** Reads what approvers see, as values; throws DAMAGED if it does not match the `contentHash`. */
export async function readApprovalContent(
  at: RunContext,
  cipher: RunCipher,
  approval: Pick<Approval, 'meta' | 'stored'>,
): Promise<ApprovalContent> {
  const { answerSchema, editsSchema, ...doc } = await readApprovalDocument(at, cipher, approval);
  const { title, show, facts, changed } = decode(doc, decodeOptions(at, { cipher })) as ApprovalContent;
  return { title, show, facts, changed, answerSchema, editsSchema };
}

/** Reads what approvers see, as documents, without the code of the agent; throws DAMAGED if the hash differs. */
export async function readApprovalDocument(
  at: RunContext,
  cipher: RunCipher,
  { meta, stored }: Pick<Approval, 'meta' | 'stored'>,
): Promise<ContentDoc> {
  const text = await readContentText(at, cipher, stored);
  if (hashContent(cipher, text) !== meta.contentHash)
    throw damagedApproval(stored, 'its content does not match its hash');
  const { answerSchema, editsSchema, ...doc } = parse(text) as Fields;
  return {
    ...(doc as unknown as ContentDoc),
    // Plain JSON, in which only a field named `$` is stored in another way.
    ...(answerSchema !== undefined && { answerSchema: decode(answerSchema) as JsonSchema }),
    ...(editsSchema !== undefined && { editsSchema: decode(editsSchema) as JsonSchema }),
  };
}

/** The vote of one person, with comment and edits. */
export interface VoteView {
  readonly by: Person;
  /** The person for whom a delegate voted. */
  readonly for?: Person;
  /** The delegation that allowed it: when it held, who made it, and when. */
  readonly delegation?: {
    readonly from: Date;
    readonly until: Date;
    readonly createdBy: Person;
    readonly createdAt: Date;
  };
  readonly as?: string;
  readonly answer: VoteAnswer;
  readonly at: Date;
  readonly comment?: string;
  /** The changes that this vote proposed. */
  readonly edits?: unknown;
  /** The answer that this vote gave to a question. */
  readonly value?: unknown;
  /** `stated` if an administrator said that they belong to the group, and nobody checked it. */
  readonly membership?: 'stated';
  /** Whether it counts for what is decided on now; an approval does not count after someone proposed changes. */
  readonly counts: boolean;
}

/** What a person adds to a vote. */
export interface VoteContent {
  readonly comment?: string | undefined;
  readonly edits?: unknown;
}

// Bound to the approval and the person, so that nobody can move a comment to another vote.
const voteBinding = (key: string, by: string): string => `vote ${key} ${by}`;

/** Encrypts comment and edits of a vote with the key of the run; plain text if the run is not encrypted. */
export const encryptVoteContent = (
  at: RunContext,
  cipher: RunCipher,
  key: string,
  by: string,
  content: VoteContent,
): string => encryptText(at, cipher, voteBinding(key, by), content);

const withdrawalBinding = (key: string): string => `withdrawal ${key}`;

/** Encrypts the reason that a person gave for withdrawing an approval; plain text if the run is not encrypted. */
export const encryptWithdrawalReason = (at: RunContext, cipher: RunCipher, key: string, reason: string): string =>
  cipher.isEncrypted ? encryptText(at, cipher, withdrawalBinding(key), reason) : reason;

/** The reason for withdrawing an approval. In an encrypted run, only the reasons of people are encrypted. */
export function readWithdrawalReason(
  at: RunContext,
  cipher: RunCipher,
  { meta: { withdrawalReason: reason }, stored }: Pick<Approval, 'meta' | 'stored'>,
): string | undefined {
  if (!cipher.isEncrypted || reason === undefined || !isEncryptedText(reason)) return reason;
  try {
    return String(decryptText(at, cipher, withdrawalBinding(stored.key), reason));
  } catch (error) {
    throw damagedApproval(stored, 'the reason for its withdrawal cannot be decrypted', error);
  }
}

/** The votes of an approval with their comments and edits. */
export function readVotes(
  at: RunContext,
  cipher: RunCipher,
  { meta, stored }: Pick<Approval, 'meta' | 'stored'>,
): readonly VoteView[] {
  const counting = currentVotes(meta);
  return meta.votes.map((vote) => {
    const { by, for: person, delegation, as, answer, at: when, content, membership } = vote;
    const { comment, edits } = content === undefined ? {} : decryptVoteContent(at, cipher, stored, by, content);
    const counts = counting.includes(vote);
    const carried = meta.question ? { value: edits } : { edits };
    return {
      by,
      ...omitUndefined({ for: person, as }),
      answer,
      at: new Date(when),
      counts,
      ...omitUndefined({ membership, comment, ...carried }),
      ...(delegation && { delegation: toDates(delegation) }),
    };
  });
}

const toDates = ({ from, until, createdBy, createdAt }: VoteDelegation) => ({
  from: new Date(from),
  until: new Date(until),
  createdBy,
  createdAt: new Date(createdAt),
});

function decryptVoteContent(
  at: RunContext,
  cipher: RunCipher,
  stored: StoredRecord,
  by: string,
  content: string,
): VoteContent {
  // Anybody could have written plain text.
  if (cipher.isEncrypted && !isEncryptedText(content))
    throw damagedApproval(stored, `the vote of ${by} is not encrypted`);
  try {
    return Object(decryptText(at, cipher, voteBinding(stored.key, by), content));
  } catch (error) {
    throw damagedApproval(stored, `the vote of ${by} cannot be decrypted`, error);
  }
}
