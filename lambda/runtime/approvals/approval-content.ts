import type { Doc, Fields, RunCipher, RunContext } from '../../checkpoints/engine.ts';
import { decode, decodeOptions, decryptText, encryptText, parse, sideText } from '../../checkpoints/engine.ts';
import type { VoteAnswer } from '../../core/approval.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { StoredRecord } from '../../storage/ports.ts';
import { damagedApproval } from './approval-meta.ts';
import type { Approval } from './approval-records.ts';

/** What was shown to the approvers. */
export interface ApprovalContent {
  readonly title: string;
  readonly show: unknown;
  readonly facts: Readonly<Record<string, unknown>> | undefined;
  readonly changed: { readonly before: unknown; readonly after: unknown } | undefined;
}

/** The same as documents, in which `$` nodes stand for what JSON lacks. */
export type ShownDoc = {
  readonly title: string;
  readonly show?: Doc;
  readonly facts?: Fields;
  readonly changed?: { readonly before: Doc; readonly after: Doc };
};

/** The hash of what was shown, in hex: SHA-256 of the stored text, under the run's key where there is one. */
export const contentHash = (cipher: RunCipher, text: string): string => cipher.hash().update(text).digest('hex');

/** The text of what was shown, as it is stored. */
export async function readContentText(at: RunContext, cipher: RunCipher, record: StoredRecord): Promise<string> {
  const text = await sideText(at, cipher, record);
  if (text === undefined) throw damagedApproval(record, 'what was shown is missing');
  return text;
}

/** What was shown; refuses it when it does not have the hash that was decided on. */
export async function readApprovalContent(
  at: RunContext,
  cipher: RunCipher,
  approval: Pick<Approval, 'meta' | 'stored'>,
): Promise<ApprovalContent> {
  const doc = await readApprovalDocument(at, cipher, approval);
  const { title, show, facts, changed } = decode(doc, decodeOptions(at, { cipher: cipher })) as ApprovalContent;
  return { title, show, facts, changed };
}

/** What was shown as documents, likewise: it needs no code of the agent that asked. */
export async function readApprovalDocument(
  at: RunContext,
  cipher: RunCipher,
  { meta, stored }: Pick<Approval, 'meta' | 'stored'>,
): Promise<ShownDoc> {
  const text = await readContentText(at, cipher, stored);
  if (contentHash(cipher, text) !== meta.shown) throw damagedApproval(stored, 'what was shown does not have its hash');
  return parse(text) as ShownDoc;
}

/** What one person answered, with what they said. */
export interface VoteView {
  readonly by: string;
  readonly as?: string;
  readonly answer: VoteAnswer;
  readonly at: Date;
  readonly comment?: string;
  readonly edits?: unknown;
}

/** What an approver says beside the answer. */
export interface VoteContent {
  readonly comment?: string | undefined;
  readonly edits?: unknown;
}

// Bound to the approval and to the person: nothing that one said opens as said by another.
const aboutVote = (key: string, by: string): string => `said ${key} ${by}`;

/** What somebody says of an approval, closed as the run is. */
export const encryptVoteContent = (
  at: RunContext,
  cipher: RunCipher,
  key: string,
  by: string,
  said: VoteContent,
): string => encryptText(at, cipher, aboutVote(key, by), said);

/** The votes of an approval with their comments and edits. */
export function readVotes(
  at: RunContext,
  cipher: RunCipher,
  { meta, stored }: Pick<Approval, 'meta' | 'stored'>,
): readonly VoteView[] {
  return meta.votes.map(({ by, as, answer, at: when, said }) => {
    const { comment, edits } = said === undefined ? {} : loaded(at, cipher, stored, by, said);
    return { by, answer, at: new Date(when), ...omitUndefined({ as, comment, edits }) };
  });
}

function loaded(at: RunContext, cipher: RunCipher, stored: StoredRecord, by: string, said: string): VoteContent {
  // Text that is not closed could be anybody's.
  if (cipher.isEncrypted && !said.startsWith('~')) throw damagedApproval(stored, `what ${by} said is not encrypted`);
  try {
    return Object(decryptText(at, cipher, aboutVote(stored.key, by), said));
  } catch (error) {
    throw damagedApproval(stored, `what ${by} said cannot be read`, error);
  }
}
