import { type Context, damagedError, metaOnlyRecord, sideMeta, withExpiry } from '../../checkpoints/engine.ts';
import type { Delegation } from '../../core/delegation.ts';
import { isGroup } from '../../core/person.ts';
import { DELEGATION_ORDER, delegationKey, delegationsPartition, inboxGroup } from '../../storage/keys.ts';
import type { StoredRecord } from '../../storage/ports.ts';

/**
 * The record of a delegation. A person has one at a time, because its key is the person. It is listed in the inbox of
 * the delegate, so that whoever lists the inbox finds it without another request, and removed when it has ended.
 */
export function delegationRecord({ records, tenant }: Context, delegation: Delegation): StoredRecord {
  const { person, delegate, until } = delegation;
  const owner = { group: inboxGroup(tenant, delegate), order: DELEGATION_ORDER };
  const record = metaOnlyRecord({ partition: delegationsPartition(tenant) }, delegationKey(person), delegation, {
    owner,
  });
  return withExpiry(records, record, until);
}

/** Whether a record of an inbox is a delegation. */
export const isDelegationRecord = ({ tenant }: Context, { partition }: StoredRecord): boolean =>
  partition === delegationsPartition(tenant);

/** Parses a delegation; throws DAMAGED if it is malformed or was moved from another key. */
export function readDelegation(stored: StoredRecord): Delegation {
  const meta = sideMeta(stored) as Partial<Delegation>;
  const { person, delegate, from, until, createdBy, createdAt, groups = [] } = meta;
  const isValid =
    [person, delegate, createdBy].every((name) => typeof name === 'string' && /^user:./s.test(name)) &&
    [from, until, createdAt].every((time) => Number.isFinite(time)) &&
    Array.isArray(groups) &&
    groups.every((group) => typeof group === 'string' && isGroup(group)) &&
    stored.key === delegationKey(String(person));
  if (!isValid) throw damagedError(`Delegation ${stored.key} of "${stored.partition}"`, 'its fields are malformed');
  return meta as Delegation;
}
