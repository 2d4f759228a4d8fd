import { type Context, toRunContext } from '../../checkpoints/engine.ts';
import type { Person } from '../../core/approval.ts';
import { type ErrorCode, isWaitstateError, RUN_GONE_CODES } from '../../core/errors.ts';
import type { ChangedApproval } from './change-approval.ts';
import { decide } from './decide.ts';
import type { AnswerInput } from './decide-input.ts';
import { type FoundApproval, findApproval } from './find-approval.ts';
import { linkNotFound, resolveToken, type TokenMeta } from './tokens.ts';

/** An approval, and the person whose approval link led to it. */
export type Linked<Found extends FoundApproval = FoundApproval> = Found & { readonly person: Person };

/** Finds the approval of a link, pending or ended. If anything of it is gone, the link does not say what. */
export async function findByToken(context: Context, token: string): Promise<Linked> {
  const link = await resolveToken(context, token);
  return toLinked(link, await hideWhatIsGone(findLinked(context, link)));
}

/** Records a decision of the person whose link it is. */
export async function decideByToken(
  context: Context,
  token: string,
  answer: AnswerInput,
): Promise<Linked<ChangedApproval>> {
  const link = await resolveToken(context, token);
  const found = await hideWhatIsGone(findLinked(context, link));
  const { approval, person: by, as } = link;
  // Someone who has left the group since the link was sent cannot decide for it.
  const isListed = found.approval.meta.members !== undefined;
  const input = { ...(Object(answer) as AnswerInput), approval, by, groups: as === undefined || isListed ? [] : [as] };
  return toLinked(link, await hideWhatIsGone(decide(found.at, input, found)));
}

async function findLinked(context: Context, { tenant, run, approval, runUid }: TokenMeta): Promise<FoundApproval> {
  const found = await findApproval(toRunContext(context, tenant, run), approval);
  // Another run may have been started under the same id.
  if (found.head.uid !== runUid) throw linkNotFound();
  return found;
}

// The key of the run may have been destroyed, which is found out only when the approval is rendered.
const toLinked = <Found extends FoundApproval>({ person }: TokenMeta, found: Found): Linked<Found> => ({
  ...found,
  person,
  cipher: () => hideWhatIsGone(found.cipher()),
});

const GONE_CODES: readonly ErrorCode[] = ['APPROVAL_NOT_FOUND', ...RUN_GONE_CODES];

/** Replaces an error about something that is gone by the error of a link that never existed. */
async function hideWhatIsGone<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    throw isWaitstateError(error, ...GONE_CODES) ? linkNotFound() : error;
  }
}
