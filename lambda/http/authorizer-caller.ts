import { isWaitstateError } from '../core/errors.ts';
import { escapeId } from '../core/ids.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { type Caller, type Identify, ROLES, type Role } from './caller.ts';

/** Which claims of a JWT, that an authorizer has checked, say who calls; the tenant is that of all, or a claim names it. */
export type JwtCallers = JwtClaims & ({ readonly tenant: string } | { readonly tenantClaim: string });

interface JwtClaims {
  readonly rolesClaim: string;
  /** The roles by the values of that claim. @default the values are roles */
  readonly roles?: Readonly<Record<string, readonly Role[]>> | undefined;
  /** Names the person; `user:` is put in front, always. What is not verified, or a list, names nobody. @default the caller is a program */
  readonly personClaim?: string | undefined;
  /** Names their groups; `group:` is put in front of each, always. @default they are in none */
  readonly groupsClaim?: string | undefined;
}

/** Who somebody is whom IAM knows. */
export interface IamCaller {
  readonly tenant: string;
  readonly roles: readonly Role[];
  readonly person?: string | undefined;
  /**
   * Whether the person is who the name of the session says. Whoever assumes the role chooses that name, unless an identity
   * centre does. @default false
   */
  readonly personFromSession?: boolean | undefined;
  readonly groups?: readonly string[] | undefined;
  /** Whether it may answer for others, whom it names. @default false */
  readonly answersForOthers?: boolean | undefined;
}

export interface AuthorizerOptions {
  readonly jwt?: JwtCallers | undefined;
  /** By ARN, the first that fits; `*` is any text without a slash. */
  readonly iam?: Readonly<Record<string, IamCaller>> | undefined;
}

/** What of the environment of a request on Lambda is looked at: the part that API Gateway wrote. */
interface Authorized {
  readonly requestContext?: {
    readonly authorizer?: {
      readonly jwt?: { readonly claims?: Readonly<Record<string, unknown>> };
      readonly iam?: { readonly userArn?: unknown };
    };
  };
}

/** Callers as the authorizer of an HTTP API found them, by JWT or IAM. Nothing that the request itself says counts. */
export const identifyFromAuthorizer =
  ({ jwt, iam }: AuthorizerOptions): Identify =>
  (_, environment) => {
    const { authorizer } = (Object(environment) as Authorized).requestContext ?? {};
    if (jwt && authorizer?.jwt?.claims) return callerOfClaims(jwt, authorizer.jwt.claims);
    if (iam && typeof authorizer?.iam?.userArn === 'string') return callerOfArn(iam, authorizer.iam.userArn);
    return undefined;
  };

function callerOfClaims(jwt: JwtCallers, claims: Readonly<Record<string, unknown>>): Caller | undefined {
  const { rolesClaim, roles: names, personClaim, groupsClaim } = jwt;
  const tenant = 'tenant' in jwt ? jwt.tenant : nameIn(claims, jwt.tenantClaim);
  const person = isProven(claims, personClaim) ? nameIn(claims, personClaim) : undefined;
  const roles = valuesOf(claims, rolesClaim).flatMap((value): readonly string[] =>
    names ? (Object.hasOwn(names, value) && names[value]) || [] : [value],
  );
  return callerOf({
    tenant,
    roles: roles.filter((role): role is Role => (ROLES as readonly string[]).includes(role)),
    person: person === undefined ? undefined : `user:${person}`,
    groups: valuesOf(claims, groupsClaim).map((group) => `group:${group}`),
  });
}

/**
 * Whether a claim is more than what somebody typed in. People may change their address themselves; whose it is, `email_verified`
 * says, and `phone_number_verified` of a number. https://openid.net/specs/openid-connect-core-1_0.html#StandardClaims
 */
function isProven(claims: Readonly<Record<string, unknown>>, claim: string | undefined): boolean {
  const proof = `${claim}_verified`;
  return !Object.hasOwn(claims, proof) || String(claims[proof]) === 'true';
}

/**
 * The values of a claim. API Gateway writes a list as text, `[a b]`; a name with a space in it is then two. Other text is
 * one value, but for `scope`, which is a list by its definition.
 */
function valuesOf(claims: Readonly<Record<string, unknown>>, claim: string | undefined): readonly string[] {
  const value = claim !== undefined && Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (Array.isArray(value)) return value.filter((each) => typeof each === 'string' && each !== '');
  if (typeof value !== 'string') return [];
  const list = claim === 'scope' ? value : /^\[(.*)\]$/s.exec(value.trim())?.[1];
  if (list === undefined) return value === '' ? [] : [value];
  return jsonTexts(value) ?? list.split(/,?\s+/).filter((each) => each !== '');
}

function jsonTexts(text: string): readonly string[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((each) => typeof each === 'string') ? list : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The one name that a claim has, as it is: people may choose theirs, so that nothing in it is left out or taken for more.
 * What may be a list names nobody.
 */
function nameIn(claims: Readonly<Record<string, unknown>>, claim: string | undefined): string | undefined {
  const value = claim !== undefined && Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  return typeof value === 'string' && value !== '' && !value.trimStart().startsWith('[') ? value : undefined;
}

function callerOfArn(iam: Readonly<Record<string, IamCaller>>, arn: string): Caller | undefined {
  const found = Object.entries(iam).find(([pattern]) => fits(pattern, arn))?.[1];
  if (!found) return undefined;
  const { personFromSession, person } = found;
  const session = personFromSession ? /^arn:[^:]+:sts::\d+:assumed-role\/[^/]+\/([^/]+)$/.exec(arn)?.[1] : undefined;
  return callerOf({ ...found, person: session === undefined ? person : `user:${session}` });
}

const fits = (pattern: string, arn: string): boolean =>
  new RegExp(`^${pattern.split('*').map(literally).join('[^/]*')}$`).test(arn);

const literally = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** The caller, if these make one: without a tenant it is nobody, and without roles it may do nothing. */
function callerOf(found: Omit<IamCaller, 'tenant'> & { readonly tenant: string | undefined }): Caller | undefined {
  const { tenant = '', roles, person, groups = [], answersForOthers = false } = found;
  try {
    escapeId('tenant', tenant);
  } catch (error) {
    if (isWaitstateError(error, 'INVALID_INPUT')) return undefined;
    throw error;
  }
  return { tenant, roles: new Set(roles), groups, answersForOthers, ...omitUndefined({ person }) };
}
