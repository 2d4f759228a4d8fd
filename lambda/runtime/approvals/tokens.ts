import { createHash, randomBytes } from 'node:crypto';
import {
  type Context,
  damagedError,
  metaOnlyRecord,
  sideMeta,
  tryCommit,
  withExpiry,
} from '../../checkpoints/engine.ts';
import type { Person } from '../../core/approval.ts';
import { WaitstateError } from '../../core/errors.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { TOKEN_KEY, tokenPartition } from '../../storage/keys.ts';
import type { StoredRecord, Write } from '../../storage/ports.ts';

/** The approval and the person that an approval link belongs to. */
export interface ApprovalLink {
  readonly tenant: string;
  readonly run: string;
  readonly approval: string;
  readonly person: Person;
  /** The group through which the person is an approver. */
  readonly as?: string | undefined;
  /** The person for whom they answer; `as` is then the group of that person. */
  readonly for?: Person | undefined;
  readonly expiresAt: number;
}

/** The record of a link. The token itself is not stored. */
export interface TokenMeta extends ApprovalLink {
  /** The run that the link was made for: a run that is started again under the same id has another uid. */
  readonly runUid: string;
  readonly createdAt: number;
}

const TOKEN_BYTES = 32;

/** Creates a token for one approval and one person, and the write that makes it valid. Only its hash is stored. */
export function createToken(
  { now, records }: Context,
  link: ApprovalLink,
  runUid: string,
): { readonly token: string; readonly write: Write } {
  const { tenant, run, approval, person, as, for: delegator, expiresAt } = link;
  if (!Number.isFinite(expiresAt)) throw invalidInput('`expiresAt`', 'a time in milliseconds', expiresAt);
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const meta: TokenMeta = {
    ...{ tenant, run, approval, person, as, for: delegator },
    ...{ runUid, createdAt: now(), expiresAt },
  };
  const kept = metaOnlyRecord({ partition: partitionOfToken(token) }, TOKEN_KEY, meta);
  return { token, write: { put: withExpiry(records, kept, expiresAt), when: 'absent' } };
}

/** The link of a token. Whatever is wrong with the token, the error is the same, so it reveals nothing. */
export async function resolveToken(context: Context, token: string): Promise<TokenMeta> {
  const [stored] = await context.records.read(partitionOfToken(token), [TOKEN_KEY]);
  const meta = stored && readToken(stored);
  if (!meta || context.now() >= meta.expiresAt) throw linkNotFound();
  return meta;
}

/** Makes a token invalid. Revoking an unknown token is not an error. */
export async function revokeToken(context: Context, token: string): Promise<void> {
  const [stored] = await context.records.read(partitionOfToken(token), [TOKEN_KEY]);
  if (stored) await tryCommit(context.records, [{ remove: stored, when: { revision: stored.revision } }]);
}

// Any value is hashed and looked up, so that a malformed token takes as long as an unknown one.
const partitionOfToken = (token: unknown): string =>
  tokenPartition(
    createHash('sha256')
      .update(typeof token === 'string' ? token : '')
      .digest('base64url'),
  );

function readToken(stored: StoredRecord): TokenMeta {
  const meta = sideMeta(stored) as Partial<TokenMeta>;
  const { tenant, run, approval, person, as, for: delegator, runUid, createdAt, expiresAt } = meta;
  const texts = [tenant, run, approval, person, runUid, as ?? '', delegator ?? ''].every(
    (text) => typeof text === 'string',
  );
  if (!texts || !Number.isFinite(createdAt) || !Number.isFinite(expiresAt))
    throw damagedError('The record of a link', 'fields are missing');
  return meta as TokenMeta;
}

/** The error for every link that cannot be used, whatever the reason. */
export const linkNotFound = (): WaitstateError =>
  new WaitstateError('APPROVAL_NOT_FOUND', 'This approval link is unknown, expired or revoked. Ask for a new one.');
