import { type Context, type RunContext, toRunContext } from '../../checkpoints/engine.ts';
import type { Person } from '../../core/approval.ts';
import { isActive } from '../../core/delegation.ts';
import { type ErrorCode, isWaitstateError, RUN_GONE_CODES } from '../../core/errors.ts';
import type { ChangedApproval } from './change-approval.ts';
import { decide } from './decide.ts';
import type { AnswerInput } from './decide-input.ts';
import { readDelegations } from './delegations.ts';
import { type FoundApproval, findApproval } from './find-approval.ts';
import { linkNotFound, resolveToken, type TokenMeta } from './tokens.ts';

/** An approval, and the person whose approval link led to it. */
export type Linked<Found extends FoundApproval = FoundApproval> = Found & {
  readonly person: Person;
  /** Whether they can no longer answer for that person. */
  readonly delegationEnded?: true;
};

/** Finds the approval of a link, pending or ended. If anything of it is gone, the link does not say what. */
export async function findByToken(context: Context, token: string): Promise<Linked> {
  const link = await resolveToken(context, token);
  const found = await hideWhatIsGone(findLinked(context, link));
  return { ...toLinked(link, found), ...((await hasEnded(found.at, link)) && { delegationEnded: true }) };
}

/** Whether the link is for a delegation that does not hold any more; links for the person themself read nothing. */
async function hasEnded(at: RunContext, { person, for: delegator }: TokenMeta): Promise<boolean> {
  if (delegator === undefined) return false;
  const delegation = (await readDelegations(at, [delegator])).get(delegator);
  return delegation?.delegate !== person || !isActive(delegation, at.now());
}

/** Records a decision of the person whose link it is. A function gets the approval, and returns the decision. */
export async function decideByToken(
  context: Context,
  token: string,
  answer: AnswerInput | ((found: FoundApproval) => Promise<AnswerInput>),
): Promise<Linked<ChangedApproval>> {
  const link = await resolveToken(context, token);
  const found = await hideWhatIsGone(findLinked(context, link));
  const { approval, person: by, for: delegator, as } = link;
  // Someone who has left the group since the link was sent cannot decide for it.
  const isListed = found.approval.meta.members !== undefined;
  const groups = as === undefined || isListed ? [] : [as];
  const voter = delegator === undefined ? { by, groups } : { by, for: delegator };
  const given = typeof answer === 'function' ? await hideWhatIsGone(answer(found)) : answer;
  const input = { ...(Object(given) as AnswerInput), approval, ...voter };
  return toLinked(link, await hideWhatIsGone(decide(found.at, input, found, groups)));
}

async function findLinked(context: Context, { tenant, run, approval, runUid }: TokenMeta): Promise<FoundApproval> {
  const found = await findApproval(toRunContext(context, tenant, run), approval);
  // Another run may have been started under the same id.
  if (found.head.uid !== runUid) throw linkNotFound();
  return found;
}

// The key of the run may have been destroyed, which is found out only when the approval is rendered.
const toLinked = <Found extends FoundApproval>({ person, for: delegator }: TokenMeta, found: Found): Linked<Found> => ({
  ...found,
  person,
  ...(delegator && { for: delegator }),
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
