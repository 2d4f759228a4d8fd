import { createHash, randomBytes } from 'node:crypto';
import type { Context, RunContext } from '../../checkpoints/engine.ts';
import {
  damagedError,
  metaOnlyRecord,
  readLiveHead,
  sideMeta,
  toRunContext,
  tryCommit,
  withExpiry,
} from '../../checkpoints/engine.ts';
import { type ErrorCode, isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { TOKEN_KEY, tokenPartition } from '../../storage/keys.ts';
import type { StoredRecord, Write } from '../../storage/ports.ts';
import { type FoundApproval, findApproval } from './change.ts';
import { type AnswerInput, decideAs } from './decide.ts';
import { type ApprovalView, toApprovalView } from './view.ts';

/** What a link lets one person do. */
export interface ApprovalLink {
  readonly tenant: string;
  readonly run: string;
  readonly approval: string;
  readonly person: string;
  /** The group through which they are asked. */
  readonly as?: string | undefined;
  readonly expiresAt: number;
}

/** What is kept of a link; the token itself is not. */
export interface TokenMeta extends ApprovalLink {
  /** Which life of the run it is for. */
  readonly born: string;
  readonly madeAt: number;
}

const TOKEN_BYTES = 32;

/** A new token that opens one approval for one person, and the write that makes it work; only its hash is stored. */
export function createToken(
  { now, records }: Context,
  link: ApprovalLink,
  born: string,
): { readonly token: string; readonly write: Write } {
  const { tenant, run, approval, person, as, expiresAt } = link;
  if (!Number.isFinite(expiresAt)) throw invalidInput('`expiresAt`', 'a moment in milliseconds', expiresAt);
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const meta: TokenMeta = { tenant, run, approval, person, as, born, madeAt: now(), expiresAt };
  const kept = metaOnlyRecord({ partition: partitionOfToken(token) }, TOKEN_KEY, meta);
  return { token, write: { put: withExpiry(records, kept, expiresAt), when: 'absent' } };
}

/** What a token opens. Whatever is wrong with it, the error is the same: it tells nobody what there is. */
export async function resolveToken(context: Context, token: string): Promise<TokenMeta> {
  const [stored] = await context.records.read(partitionOfToken(token), [TOKEN_KEY]);
  const meta = stored && readToken(stored);
  if (!meta || context.now() >= meta.expiresAt) throw linkNotFound();
  const { born } = (await asLink(readLiveHead(toRunContext(context, meta.tenant, meta.run)))).meta;
  if (born !== meta.born) throw linkNotFound();
  return meta;
}

/** Makes a token open nothing any more; one that does not is no error. */
export async function revokeToken(context: Context, token: string): Promise<void> {
  const [stored] = await context.records.read(partitionOfToken(token), [TOKEN_KEY]);
  if (stored) await tryCommit(context.records, [{ remove: stored, when: { revision: stored.revision } }]);
}

/** The approval that a token opens, also after it was decided. */
export const viewByToken = (context: Context, token: string): Promise<ApprovalView> =>
  showByToken(context, token, toApprovalView);

/** The same, shown in another way to the person that the token was made for. */
export async function showByToken<View>(context: Context, token: string, show: ShowTo<View>): Promise<View> {
  const meta = await resolveToken(context, token);
  const at = toRunContext(context, meta.tenant, meta.run);
  return asLink(findApproval(at, meta.approval).then((found) => show(at, found, meta.person)));
}

/** Decides as the person that the token was made for. */
export const decideByToken = (context: Context, token: string, answer: AnswerInput): Promise<ApprovalView> =>
  decideByTokenAs(context, token, answer, toApprovalView);

/** The same, shown in another way. */
export async function decideByTokenAs<View>(
  context: Context,
  token: string,
  answer: AnswerInput,
  show: ShowTo<View>,
): Promise<View> {
  const meta = await resolveToken(context, token);
  const { approval, person: by, as } = meta;
  const given = Object(answer) as AnswerInput;
  const input = { ...given, approval, by, groups: as === undefined ? [] : [as] };
  return asLink(decideAs(toRunContext(context, meta.tenant, meta.run), input, (at, found) => show(at, found, by)));
}

type ShowTo<View> = (at: RunContext, found: FoundApproval, person: string) => Promise<View>;

// Whatever comes is hashed, so that what is no token takes the same way as one that nobody made.
const partitionOfToken = (token: unknown): string =>
  tokenPartition(
    createHash('sha256')
      .update(typeof token === 'string' ? token : '')
      .digest('base64url'),
  );

function readToken(stored: StoredRecord): TokenMeta {
  const meta = sideMeta(stored) as Partial<TokenMeta>;
  const { tenant, run, approval, person, as, born, madeAt, expiresAt } = meta;
  const texts = [tenant, run, approval, person, born, as ?? ''].every((text) => typeof text === 'string');
  if (!texts || !Number.isFinite(madeAt) || !Number.isFinite(expiresAt))
    throw damagedError('The record of a link', 'fields are missing');
  return meta as TokenMeta;
}

const GONE: readonly ErrorCode[] = [
  'APPROVAL_NOT_FOUND',
  'RUN_NOT_FOUND',
  'RUN_DELETED',
  'RUN_EXPIRED',
  'RUN_SHREDDED',
];

/** What is gone, in the words of a link that never was. */
async function asLink<T>(opening: Promise<T>): Promise<T> {
  try {
    return await opening;
  } catch (error) {
    throw isWaitstateError(error, ...GONE) ? linkNotFound() : error;
  }
}

/** What is said of a link that opens nothing, whatever is wrong with it. */
export const linkNotFound = (): WaitstateError =>
  new WaitstateError('APPROVAL_NOT_FOUND', 'This link opens nothing, or no longer. Ask for a new one.');
