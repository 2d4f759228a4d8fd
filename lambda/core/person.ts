import { escapeId } from './ids.ts';
import { invalidInput } from './invalid-input.ts';

/** A person who decides approvals. */
export type Person = `user:${string}`;

/** Who may decide an approval: a person, or every member of a group. */
export type Approver = Person | `group:${string}`;

/** Whether an approver is a group. */
export const isGroup = (approver: string): approver is `group:${string}` => approver.startsWith('group:');

/** Rejects anything but the name of a person or a group. */
export const checkApprover = (argument: string, name: unknown): Approver =>
  checkName(
    argument,
    name,
    /^(user|group):./s,
    '"user:" or "group:" followed by a name: write "user:ann" for a person, or "group:finance" for all members of a group',
  ) as Approver;

/** Rejects anything but the name of a person. */
export const checkPerson = (argument: string, name: unknown): Person =>
  checkName(argument, name, /^user:./s, '"user:" followed by a name, such as "user:ann"') as Person;

function checkName(argument: string, name: unknown, pattern: RegExp, expected: string): string {
  escapeId('approver', name);
  if (!pattern.test(name as string)) throw invalidInput(argument, expected, name);
  return name as string;
}
