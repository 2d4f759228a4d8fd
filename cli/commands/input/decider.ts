import { checkPerson } from '../../../lambda/core/approval.ts';
import { omitUndefined } from '../../../lambda/core/omit-undefined.ts';
import type { DecideInput } from '../../../lambda/runtime/approvals/decide-input.ts';
import type { Session } from '../../session.ts';
import { requireActingPerson } from './acting-person.ts';

/** Who decides, for whom, and with which comment. */
export interface DeciderOptions {
  readonly as?: string;
  readonly for?: string;
  readonly group?: readonly string[];
  readonly comment?: string;
}

/** The person who decides, as the options or the environment name them. */
export function toDecider(
  session: Session,
  { as, for: person, group: groups, comment }: DeciderOptions,
): Pick<DecideInput, 'by' | 'for' | 'groups' | 'membership' | 'comment'> {
  return {
    by: requireActingPerson(session, as),
    ...(person !== undefined && { for: checkPerson('--for', person) }),
    ...omitUndefined({ groups, comment }),
    ...(groups && { membership: 'stated' as const }),
  };
}
