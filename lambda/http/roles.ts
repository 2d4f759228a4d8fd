import { matchApprover, notAnApprover } from '../core/approval.ts';
import type { ApprovalDocument } from '../operator/approval-document.ts';
import { type Caller, ROLES, type Role } from './caller.ts';
import { HttpError } from './problem.ts';

/** Who may look at runs. */
export const VIEW_ROLES: readonly Role[] = ['viewer', 'operator'];
/** Who may answer. */
export const DECIDE_ROLES: readonly Role[] = ['approver'];
/** Who may start runs. */
export const START_ROLES: readonly Role[] = ['operator', 'starter'];
/** Who may start, change and end runs. */
export const OPERATE_ROLES: readonly Role[] = ['operator'];
/** Who may see what waits for answers. */
export const INBOX_ROLES: readonly Role[] = ['approver', 'operator'];
/** Who may see an approval, where they are asked or may look at runs. */
export const APPROVAL_VIEW_ROLES: readonly Role[] = ['viewer', 'approver', 'operator'];
/** Whoever has any role. */
export const ALL_ROLES: readonly Role[] = ROLES;

/** Whether a caller has one of the roles. */
export const hasRole = ({ roles }: Caller, allowed: readonly Role[]): boolean =>
  allowed.some((role) => roles.has(role));

/** Refuses a caller who has none of the roles. */
export function requireRole(caller: Caller, allowed: readonly Role[]): void {
  if (!hasRole(caller, allowed))
    throw notAllowed(`This needs the role ${allowed.join(' or ')}. Ask who gives roles here.`);
}

/** Refuses to show an approval to an approver who may not look at runs, unless they are asked. */
export function requireApprovalAccess(caller: Caller, approval: ApprovalDocument): void {
  const { person = '', groups, answersForOthers } = caller;
  if (hasRole(caller, VIEW_ROLES) || answersForOthers || matchApprover(approval, person, groups)) return;
  throw notAnApprover(approval, person);
}

/** The caller as one who answers; refuses one that is no person. */
export function requireDecider({ person, groups, answersForOthers }: Caller): {
  readonly by: string;
  readonly groups: readonly string[];
} {
  if (person !== undefined) return { by: person, groups };
  throw notAllowed(answersForOthers ? 'Say who answers.' : 'Only a person can answer, and this caller is none.');
}

/** The error for a caller who may do other things, but not this. */
export const notAllowed = (message: string): HttpError => new HttpError(403, 'NOT_ALLOWED', message);
