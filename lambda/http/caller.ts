import type { Person } from '../core/approval.ts';

/**
 * What a caller may do. A viewer reads runs; an approver decides approval requests; an operator reads, starts, changes and
 * ends runs; a starter only starts them and cannot read any run; a worker claims runs and executes them.
 */
export const ROLES = ['viewer', 'approver', 'operator', 'starter', 'worker'] as const;
/** One of {@link ROLES}. */
export type Role = (typeof ROLES)[number];

/** The identity of a caller, as an authorizer or the local server states it; never taken from the request itself. */
export interface Caller {
  readonly tenant: string;
  /** The person, such as `user:ann`; absent for a program. */
  readonly person?: Person;
  /** The groups of that person, such as `group:finance`. */
  readonly groups: readonly string[];
  readonly roles: ReadonlySet<Role>;
  /** Whether it may submit decisions for people that it names: a portal that knows its users, or the local server. */
  readonly decidesForOthers: boolean;
  /** Whether it may name the person who requests a run that it starts: a service that authenticates its users. */
  readonly startsForOthers?: boolean;
}

/** Identifies the caller of a request; undefined rejects the request. */
export type Identify = (request: Request, environment: unknown) => Caller | undefined | Promise<Caller | undefined>;
