import { type Context, retryOnConflict, scanPages, tryCommit } from '../../checkpoints/engine.ts';
import {
  checkDelegation,
  checkNotMutual,
  type DelegateInput,
  type Delegation,
  isActive,
} from '../../core/delegation.ts';
import { isStorageError, WaitstateError } from '../../core/errors.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { checkPerson, type Person } from '../../core/person.ts';
import { DELEGATION_ORDER, delegationKey, delegationsPartition, inboxGroup } from '../../storage/keys.ts';
import type { StoredRecord } from '../../storage/ports.ts';
import { delegationRecord, isDelegationRecord, readDelegation } from './delegation-record.ts';

/** A delegation: one person answers the approvals of another for a time. */
export interface DelegationView {
  /** Who is away. */
  readonly person: Person;
  /** Who answers for them. */
  readonly delegate: Person;
  readonly from: Date;
  readonly until: Date;
  /** Who made it, and when. */
  readonly createdBy: Person;
  readonly createdAt: Date;
  /** The groups of the person whose inboxes the delegate sees. */
  readonly groups?: readonly string[];
}

/** Renders a delegation. */
export const toDelegationView = ({ person, delegate, groups, ...times }: Delegation): DelegationView => ({
  person,
  delegate,
  from: new Date(times.from),
  until: new Date(times.until),
  createdBy: times.createdBy,
  createdAt: new Date(times.createdAt),
  ...omitUndefined({ groups }),
});

/** Lets someone answer for a person; replaces the person's earlier delegation. */
export async function delegate(context: Context, input: DelegateInput): Promise<Delegation> {
  const { records, tenant, now } = context;
  checkDelegation(input, now());
  const keys = [input.person, input.delegate].map(delegationKey);
  return retryOnConflict(async () => {
    const [earlier, ofDelegate] = await readKeys(context, keys);
    // Read first: the response says what time it is for the storage.
    const delegation = checkDelegation(input, now());
    checkNotMutual(delegation, ofDelegate && readDelegation(ofDelegate));
    const put = delegationRecord(context, delegation);
    const when = earlier ? { revision: earlier.revision } : 'absent';
    if (await tryCommit(records, [{ put, when }])) return delegation;
    throw new WaitstateError(
      'STALE_VERSION',
      `The delegation of "${input.person}" in tenant "${tenant}" was changed at the same time. Try again.`,
    );
  });
}

/** Ends the delegation of a person, now or planned; returns it, or undefined if there is none. */
export async function endDelegation(context: Context, person: Person): Promise<Delegation | undefined> {
  const [stored] = await readKeys(context, [delegationKey(checkPerson('`person`', person))]);
  if (!stored || !(await tryCommit(context.records, [{ remove: stored, when: { revision: stored.revision } }])))
    return undefined;
  const delegation = readDelegation(stored);
  return delegation.until > context.now() ? delegation : undefined;
}

/** The records with these keys, in their order; undefined for those that do not exist. */
async function readKeys({ records, tenant }: Context, keys: readonly string[]) {
  const found = await records.read(delegationsPartition(tenant), keys);
  return keys.map((key): StoredRecord | undefined => found.find((record) => record.key === key));
}

// As many keys as one request can read.
const MAX_KEYS = 100;

/** The delegations of these people, by person; also those that have ended or not begun. */
export async function readDelegations(
  { records, tenant }: Context,
  people: readonly Person[],
): Promise<ReadonlyMap<string, Delegation>> {
  const keys = [...new Set(people)].map(delegationKey);
  const found: StoredRecord[] = [];
  for (let from = 0; from < keys.length; from += MAX_KEYS)
    found.push(...(await records.read(delegationsPartition(tenant), keys.slice(from, from + MAX_KEYS))));
  return new Map(readable(found).map((delegation) => [delegation.person, delegation]));
}

/** The delegations to this person that hold now, as its inbox lists them. */
export function activeDelegations({ now }: Context, stored: readonly StoredRecord[]): readonly Delegation[] {
  return readable(stored).filter((delegation) => isActive(delegation, now()));
}

/** The delegations of the tenant that have not ended, or those from and to one person; the first to end comes first. */
export async function listDelegations(
  context: Context,
  { person, limit = Infinity }: { readonly person?: Person | undefined; readonly limit?: number | undefined } = {},
): Promise<readonly Delegation[]> {
  const { records, tenant, now } = context;
  const stored: StoredRecord[] = [];
  if (person === undefined) {
    for await (const record of scanPages((from) => records.range(delegationsPartition(tenant), from))) {
      stored.push(record);
      if (stored.length >= limit) break;
    }
  } else {
    checkPerson('`person`', person);
    const order = { from: DELEGATION_ORDER, to: DELEGATION_ORDER };
    const pages = (from: object) => records.list('owner', inboxGroup(tenant, person), { ...order, ...from });
    const [own] = await readKeys(context, [delegationKey(person)]);
    for await (const record of scanPages(pages)) if (isDelegationRecord(context, record)) stored.push(record);
    if (own) stored.push(own);
  }
  return readable(stored)
    .filter(({ until }) => until > now())
    .toSorted((a, b) => a.until - b.until);
}

/** Leaves out what is damaged, so that it allows nothing and the others are found. */
const readable = (stored: readonly StoredRecord[]): readonly Delegation[] =>
  stored.flatMap((record) => {
    try {
      return [readDelegation(record)];
    } catch (error) {
      if (isStorageError(error)) throw error;
      return [];
    }
  });
