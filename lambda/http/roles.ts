import { checkPerson, type Person } from '../core/approval.ts';
import { groupsOf, matchApprover, notAnApprover } from '../core/approval-votes.ts';
import type { ApprovalDocument } from '../operator/approval-document.ts';
import type { Operator } from '../operator/operator.ts';
import { type Caller, ROLES, type Role } from './caller.ts';
import { HttpError } from './problem.ts';

/** Roles that can read runs. */
export const VIEW_ROLES: readonly Role[] = ['viewer', 'operator'];
/** Roles that can decide approvals. */
export const DECIDE_ROLES: readonly Role[] = ['approver'];
/** Roles that can start runs. */
export const START_ROLES: readonly Role[] = ['operator', 'starter'];
/** Roles that can change and end runs. */
export const OPERATE_ROLES: readonly Role[] = ['operator'];
/** Roles that can claim runs and write to them, as an agent does. */
export const WORK_ROLES: readonly Role[] = ['operator', 'worker'];
/** Roles that can load a run as an agent does. */
export const LOAD_ROLES: readonly Role[] = ['viewer', 'operator', 'worker'];
/** Roles that can list pending approvals. */
export const INBOX_ROLES: readonly Role[] = ['approver', 'operator'];
/** Roles that can read an approval: as one of its approvers, or as a reader of runs. */
export const APPROVAL_VIEW_ROLES: readonly Role[] = ['viewer', 'approver', 'operator'];
/** Any role. */
export const ALL_ROLES: readonly Role[] = ROLES;

/** Whether a caller has one of the roles. */
export const hasRole = ({ roles }: Caller, allowed: readonly Role[]): boolean =>
  allowed.some((role) => roles.has(role));

/** Throws `NOT_ALLOWED` for a caller who has none of the roles. */
export function requireRole(caller: Caller, allowed: readonly Role[]): void {
  if (!hasRole(caller, allowed))
    throw notAllowed(`This requires the role ${allowed.join(' or ')}. Ask an administrator for it.`);
}

/**
 * Throws unless the caller can read runs, can decide for others, is one of the approvers, has voted, or is the delegate
 * of an approver. Only then are delegations read.
 */
export async function requireApprovalAccess(
  caller: Caller,
  approval: ApprovalDocument,
  operator: Pick<Operator, 'delegationsOf'>,
): Promise<void> {
  const { person = '', groups } = caller;
  const { members = {} } = approval;
  const known = [...groups, ...groupsOf(members, person)];
  if (seesApprovers(caller) || matchApprover(approval, person, known)) return;
  if (approval.votes.some(({ by }) => by === person)) return;
  if ((await operator.delegationsOf(approval)).some(({ delegate }) => delegate === person)) return;
  throw notAnApprover(approval, person, members);
}

/** The caller as the person who decides; throws `NOT_ALLOWED` for a program. */
export function requireDecider({ person, groups, decidesForOthers }: Caller): {
  readonly by: Person;
  readonly groups: readonly string[];
} {
  if (person !== undefined) return { by: person, groups };
  throw notAllowed(
    decidesForOthers ? 'Name the person who decides.' : 'Only a person can decide, and this caller is a program.',
  );
}

/**
 * The person who requests a run that a caller starts: the caller, or the person whom a caller names who may start runs
 * for others. Otherwise people could name someone else, and then decide what they requested themselves.
 */
export function requesterOf(caller: Caller, named: string | undefined): Person | undefined {
  if (named === undefined || named === caller.person) return caller.person;
  if (caller.decidesForOthers || caller.startsForOthers) return checkPerson('`requestedBy`', named);
  throw notAllowed('This caller may not start runs for others. Leave out `requestedBy`.', '/requestedBy');
}

/**
 * The 403 error for a caller who lacks a permission. `fields` are the parts of the request that need it: JSON pointers
 * into the body, or names of parameters.
 */
export const notAllowed = (message: string, ...fields: readonly string[]): HttpError =>
  new HttpError(403, 'NOT_ALLOWED', message, {
    ...(fields.length > 0 && { errors: fields.map((path) => ({ path, detail: message })) }),
  });

/** Whether a caller can read every approval, and so may know its approvers. */
export const seesApprovers = (caller: Caller): boolean => hasRole(caller, VIEW_ROLES) || caller.decidesForOthers;
