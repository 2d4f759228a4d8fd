import { isDeepStrictEqual } from 'node:util';
import { decryptText, encryptText, type RunCipher, type RunContext } from '../../checkpoints/engine.ts';
import {
  type Approver,
  checkPerson,
  type GroupMembers,
  isEncryptedText,
  isGroup,
  type Person,
} from '../../core/approval.ts';
import { type Approval, damagedApproval } from './approval-meta.ts';
import { changeApproval } from './change-approval.ts';
import type { FoundApproval } from './find-approval.ts';

/** Lists the members of a group. */
export type ListMembers = (group: string) => Promise<readonly string[]>;

// The record of an approval holds 400 KB, and each change of it is paid by its size.
const MAX_MEMBERS = 500;

/**
 * Asks the agent for the members of the groups of an approval, and stores them with the approval if they changed, so
 * that a vote for a group can be checked. Above 500 members, it stores none: their links say which group they are in.
 */
export async function resolveMembers(found: FoundApproval, listMembers: ListMembers): Promise<GroupMembers> {
  const members = await listGroupMembers(found.approval.meta.approvers, listMembers);
  const count = Object.values(members).reduce((sum, people) => sum + people.length, 0);
  if (Object.keys(members).length > 0 && count <= MAX_MEMBERS) await storeMembers(found, members);
  return members;
}

/** The members of those approvers that are groups, each person once. */
export async function listGroupMembers(
  approvers: readonly Approver[],
  listMembers: ListMembers,
): Promise<GroupMembers> {
  const members: Record<string, readonly Person[]> = {};
  for (const group of approvers.filter(isGroup)) {
    const people = (await listMembers(group)).map((member) => checkPerson(`Each member of "${group}"`, member));
    members[group] = [...new Set(people)];
  }
  return members;
}

async function storeMembers(found: FoundApproval, members: GroupMembers): Promise<void> {
  await changeApproval(found, async ({ at, approval, cipher }) => {
    const runCipher = await cipher();
    if (approval.meta.status !== 'PENDING') return approval.meta;
    if (isDeepStrictEqual(readMembers(at, runCipher, approval), members)) return approval.meta;
    return { ...approval.meta, members: encryptText(at, runCipher, membersBinding(approval.stored.key), members) };
  });
}

const membersBinding = (key: string): string => `members ${key}`;

/** The members of an approval's groups, as the agent listed them last; a group without an entry is unknown. */
export function readMembers(
  at: RunContext,
  cipher: RunCipher,
  { meta: { members }, stored }: Pick<Approval, 'meta' | 'stored'>,
): GroupMembers {
  if (members === undefined) return {};
  // Anybody could have written plain text.
  if (cipher.isEncrypted && !isEncryptedText(members)) throw damagedApproval(stored, 'its members are not encrypted');
  try {
    return decryptText(at, cipher, membersBinding(stored.key), members) as GroupMembers;
  } catch (error) {
    throw damagedApproval(stored, 'its members cannot be decrypted', error);
  }
}
