import type { Person } from '../core/approval.ts';
import { isWaitstateError } from '../core/errors.ts';
import { escapeId } from '../core/ids.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { type Caller, type Identify, ROLES, type Role } from './caller.ts';

/** Maps the claims of a verified JWT to a caller. The tenant is fixed for every caller, or comes from a claim. */
export type JwtCallers = JwtClaims & ({ readonly tenant: string } | { readonly tenantClaim: string });

interface JwtClaims {
  /** The claim that lists the roles of the caller. */
  readonly rolesClaim: string;
  /** Maps each value of that claim to roles. @default the values are role names */
  readonly roles?: Readonly<Record<string, readonly Role[]>> | undefined;
  /**
   * The claim that names the person; `user:` is always prepended. An unverified claim or a list names nobody.
   * @default the caller is a program
   */
  readonly personClaim?: string | undefined;
  /** The claim that lists the groups of the person; `group:` is always prepended to each. @default no groups */
  readonly groupsClaim?: string | undefined;
}

/** The caller that an IAM principal maps to. */
export interface IamCaller {
  readonly tenant: string;
  readonly roles: readonly Role[];
  /** The person, such as `user:ann`. @default the caller is a program */
  readonly person?: Person | undefined;
  /**
   * Whether the session name is the name of the person. Whoever assumes a role chooses its session name, unless IAM
   * Identity Center sets it. @default false
   */
  readonly personFromSession?: boolean | undefined;
  readonly groups?: readonly string[] | undefined;
  /** Whether the caller may submit decisions on behalf of people that it names. @default false */
  readonly decidesForOthers?: boolean | undefined;
  /** Whether the caller may name the person who requests a run that it starts. @default false */
  readonly startsForOthers?: boolean | undefined;
}

/** Options of {@link identifyFromAuthorizer}. */
export interface AuthorizerOptions {
  readonly jwt?: JwtCallers | undefined;
  /** Callers by ARN pattern; the first match wins, and `*` matches any text without a slash. */
  readonly iam?: Readonly<Record<string, IamCaller>> | undefined;
}

/** The part of a Lambda event that API Gateway itself writes. */
interface AuthorizerEvent {
  readonly requestContext?: {
    readonly authorizer?: {
      readonly jwt?: { readonly claims?: Readonly<Record<string, unknown>> };
      readonly iam?: { readonly userArn?: unknown };
    };
  };
}

/** Identifies callers by the JWT or IAM authorizer of an HTTP API. Headers and body of the request never count. */
export const identifyFromAuthorizer =
  ({ jwt, iam }: AuthorizerOptions): Identify =>
  (_, environment) => {
    const { authorizer } = (Object(environment) as AuthorizerEvent).requestContext ?? {};
    if (jwt && authorizer?.jwt?.claims) return callerFromClaims(jwt, authorizer.jwt.claims);
    if (iam && typeof authorizer?.iam?.userArn === 'string') return callerFromArn(iam, authorizer.iam.userArn);
    return undefined;
  };

function callerFromClaims(jwt: JwtCallers, claims: Readonly<Record<string, unknown>>): Caller | undefined {
  const { rolesClaim, roles: rolesByValue, personClaim, groupsClaim } = jwt;
  const tenant = 'tenant' in jwt ? jwt.tenant : singleClaimValue(claims, jwt.tenantClaim);
  const person = isVerified(claims, personClaim) ? singleClaimValue(claims, personClaim) : undefined;
  const roles = claimValues(claims, rolesClaim).flatMap((value): readonly string[] =>
    rolesByValue ? (Object.hasOwn(rolesByValue, value) && rolesByValue[value]) || [] : [value],
  );
  return toCaller({
    tenant,
    roles: roles.filter((role): role is Role => (ROLES as readonly string[]).includes(role)),
    person: person === undefined ? undefined : `user:${person}`,
    groups: claimValues(claims, groupsClaim).map((group) => `group:${group}`),
  });
}

/**
 * Whether a claim can be trusted to name a person. People can change their own email address or phone number, so
 * `email_verified` and `phone_number_verified` must be true where they are present.
 * https://openid.net/specs/openid-connect-core-1_0.html#StandardClaims
 */
function isVerified(claims: Readonly<Record<string, unknown>>, claim: string | undefined): boolean {
  const verifiedClaim = `${claim}_verified`;
  return !Object.hasOwn(claims, verifiedClaim) || String(claims[verifiedClaim]) === 'true';
}

/**
 * The values of a claim. API Gateway passes a list as the text `[a b]`, so a value that contains a space becomes two.
 * Other text is one value, except for `scope`, which is defined as a space-separated list.
 */
function claimValues(claims: Readonly<Record<string, unknown>>, claim: string | undefined): readonly string[] {
  const value = claim !== undefined && Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (Array.isArray(value)) return value.filter((item) => typeof item === 'string' && item !== '');
  if (typeof value !== 'string') return [];
  const list = claim === 'scope' ? value : /^\[(.*)\]$/s.exec(value.trim())?.[1];
  if (list === undefined) return value === '' ? [] : [value];
  return parseJsonStrings(value) ?? list.split(/,?\s+/).filter((item) => item !== '');
}

function parseJsonStrings(text: string): readonly string[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((item) => typeof item === 'string') ? list : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The single name in a claim, unchanged: people may choose their own names, so nothing in it is split or interpreted.
 * Text that could be a list names nobody.
 */
function singleClaimValue(claims: Readonly<Record<string, unknown>>, claim: string | undefined): string | undefined {
  const value = claim !== undefined && Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  return typeof value === 'string' && value !== '' && !value.trimStart().startsWith('[') ? value : undefined;
}

function callerFromArn(iam: Readonly<Record<string, IamCaller>>, arn: string): Caller | undefined {
  const match = Object.entries(iam).find(([pattern]) => matchesArnPattern(pattern, arn))?.[1];
  if (!match) return undefined;
  const { personFromSession, person } = match;
  const session = personFromSession ? /^arn:[^:]+:sts::\d+:assumed-role\/[^/]+\/([^/]+)$/.exec(arn)?.[1] : undefined;
  return toCaller({ ...match, person: session === undefined ? person : `user:${session}` });
}

const matchesArnPattern = (pattern: string, arn: string): boolean =>
  new RegExp(`^${pattern.split('*').map(escapeRegExp).join('[^/]*')}$`).test(arn);

const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** The caller, or undefined without a valid tenant. A caller without roles may do nothing. */
function toCaller(identity: Omit<IamCaller, 'tenant'> & { readonly tenant: string | undefined }): Caller | undefined {
  const { tenant = '', roles, person, groups = [], decidesForOthers = false, startsForOthers } = identity;
  try {
    escapeId('tenant', tenant);
  } catch (error) {
    if (isWaitstateError(error, 'INVALID_INPUT')) return undefined;
    throw error;
  }
  return { tenant, roles: new Set(roles), groups, decidesForOthers, ...omitUndefined({ person, startsForOthers }) };
}
