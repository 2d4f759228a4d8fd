import { checkPerson, type Person } from '../../core/approval.ts';
import type { Caller } from '../../http/caller.ts';
import { requireDecider } from '../../http/roles.ts';

/** The person who decides: the caller, or the person that a caller chose who decides for others. */
export function whoAnswers(
  caller: Caller,
  by: string | undefined,
): { readonly by: Person; readonly groups: readonly string[] } {
  if (!caller.decidesForOthers || by === undefined) return requireDecider(caller);
  const person = by.trim();
  // A person with two names would count twice.
  return { by: checkPerson('The person who decides', person), groups: [] };
}
