import { checkPerson, type Person } from '../core/approval.ts';
import type { DelegateInput } from '../core/delegation.ts';
import type { Operator } from '../operator/operator.ts';
import type { Caller } from './caller.ts';
import { notAllowed, requireDecider } from './roles.ts';

/** What a request says about who is away, and who makes the delegation. */
interface NamedDelegator {
  readonly person: string | undefined;
  readonly createdBy: string | undefined;
  readonly groups: readonly string[] | undefined;
}

/**
 * Who is away and who makes the delegation: the caller, with the groups of their login, or the people whom a caller
 * names who answers for others. Anybody else could otherwise make themself the delegate of every approver.
 */
export function requireDelegator(
  caller: Caller,
  { person, createdBy, groups }: NamedDelegator,
): Pick<DelegateInput, 'person' | 'createdBy' | 'groups'> {
  if (caller.decidesForOthers && person !== undefined)
    return {
      person: checkPerson('`person`', person),
      createdBy: createdBy === undefined ? caller.person : checkPerson('`createdBy`', createdBy),
      groups,
    };
  if ((person !== undefined && person !== caller.person) || createdBy !== undefined || groups !== undefined)
    throw notAllowed(
      'This caller can delegate only for themself. Leave out `person`, `createdBy` and `groups`.',
      ...Object.entries({ person, createdBy, groups }).flatMap(([name, value]) =>
        value === undefined ? [] : `/${name}`,
      ),
    );
  const { by, groups: own } = requireDecider(caller);
  return { person: by, groups: own.filter((group) => group.startsWith('group:')).slice(0, 100) };
}

/** Throws unless the caller is the person who is away, their delegate, or answers for others. */
export async function requireDelegationEnder(
  caller: Caller,
  operator: Pick<Operator, 'delegations'>,
  person: Person,
): Promise<void> {
  if (caller.decidesForOthers || caller.person === person) return;
  const { by } = requireDecider(caller);
  const delegations = await operator.delegations({ person: by });
  if (!delegations.some((each) => each.person === person && each.delegate === by))
    throw notAllowed('Only the person who is away and their delegate can end a delegation.');
}
