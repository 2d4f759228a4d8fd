/**
 * What somebody may do: look; answer what they are asked; start, change and end runs; just start them. An operator may also
 * look; a starter sees nothing of any run.
 */
export const ROLES = ['viewer', 'approver', 'operator', 'starter'] as const;
export type Role = (typeof ROLES)[number];

/** Who calls, as somebody trusted says: an authorizer, or the local server. Never the request itself. */
export interface Caller {
  readonly tenant: string;
  /** The person, such as `user:ann`; absent for a program. */
  readonly person?: string;
  /** The groups of that person, such as `group:finance`. */
  readonly groups: readonly string[];
  readonly roles: ReadonlySet<Role>;
  /** Whether it may answer for others, whom it names: a portal that knows its users, or a developer's own machine. */
  readonly answersForOthers: boolean;
}

/** Finds out who calls; undefined refuses the request. */
export type Identify = (request: Request, environment: unknown) => Caller | undefined | Promise<Caller | undefined>;
