import { checkPerson, type Person } from '../../../lambda/core/approval.ts';
import { WaitstateError } from '../../../lambda/core/errors.ts';
import type { Session } from '../../session.ts';

/** The person that `--as` or WAITSTATE_PERSON names; undefined without either. */
export function actingPerson({ terminal }: Session, as: string | undefined): Person | undefined {
  const name = as ?? terminal.environment.WAITSTATE_PERSON;
  return name ? checkPerson(as === undefined ? 'WAITSTATE_PERSON' : '--as', name) : undefined;
}

/** The same, or an error without either. */
export function requireActingPerson(session: Session, as: string | undefined): Person {
  const person = actingPerson(session, as);
  if (person) return person;
  throw new WaitstateError(
    'INVALID_INPUT',
    'No person is given. Pass --as, such as --as user:ann, or set WAITSTATE_PERSON.',
  );
}
