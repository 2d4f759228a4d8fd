import type { Caller } from '../api/caller.ts';

/** Whether a caller may look at runs. */
export const maySee = ({ roles }: Caller): boolean => roles.has('viewer') || roles.has('operator');

/** Whether a caller may start, change and end runs. */
export const mayStart = ({ roles }: Caller): boolean => roles.has('operator');

/** Whether a caller may answer: as the person that they are, or for others. */
export const mayAnswer = ({ roles, person, answersForOthers }: Caller): boolean =>
  roles.has('approver') && (person !== undefined || answersForOthers);
