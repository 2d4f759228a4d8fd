import { Stack, Token } from 'aws-cdk-lib';
import { Grant, type IGrantable, type IRole, type IUser, UnknownPrincipal } from 'aws-cdk-lib/aws-iam';
import type { IamCaller } from '../lambda/http/authorizer-caller.ts';
import { acknowledgeWildcards } from './acknowledge.ts';
import type { ApiPermission } from './api-permissions.ts';
import type { HttpEndpoint } from './http-endpoint.ts';
import { roleNameVisibleTo } from './other-stacks.ts';

/** The IAM callers of the API. Several grants to one caller add up. */
export class CallerRegistry {
  readonly #given: ReadonlyMap<string, IamCaller>;
  readonly #granted = new Map<string, IamCaller>();

  constructor(given: Readonly<Record<string, IamCaller>> = {}) {
    this.#given = new Map(Object.entries(given));
  }

  /** Allows a role or a user to call these routes, and registers the caller with the application. */
  grant(
    endpoint: HttpEndpoint,
    grantee: IGrantable,
    { routes, roles, decidesForOthers, startsForOthers }: ApiPermission,
    tenant: string,
  ): Grant {
    const arn = callerArn(endpoint, grantee);
    const known = this.#granted.get(arn) ?? this.#given.get(arn);
    if (known && known.tenant !== tenant)
      throw new Error(
        `${endpoint.node.path}: a caller has one tenant; found "${known.tenant}" and "${tenant}" for one role. Use one role per tenant.`,
      );
    this.#granted.set(arn, {
      ...known,
      tenant,
      roles: [...new Set([...(known?.roles ?? []), ...roles])],
      ...(decidesForOthers && { decidesForOthers }),
      ...(startsForOthers && { startsForOthers }),
    });
    const resourceArns = routes.map(([method, path]) => endpoint.routeArn(method, path));
    acknowledgeWildcards(grantee.grantPrincipal, resourceArns, 'Paths contain ids of runs, and the API has one stage.');
    return Grant.addToPrincipal({ grantee, actions: ['execute-api:Invoke'], resourceArns });
  }

  /**
   * The value of `WAITSTATE_IAM_CALLERS`. The first match counts, so grants come before the patterns of `iamCallers`.
   */
  toJson(): string {
    return JSON.stringify(
      Object.fromEntries([...this.#granted, ...[...this.#given].filter(([arn]) => !this.#granted.has(arn))]),
    );
  }
}

/** The ARN under which IAM knows a caller; for a role, with any session name. */
function callerArn(endpoint: HttpEndpoint, { grantPrincipal: principal }: IGrantable): string {
  const { partition, account } = Stack.of(endpoint);
  if ('roleName' in principal) {
    const role = principal as IRole;
    const { principalAccount: roleAccount = account } = role;
    // HTTP APIs have no resource policy, which cross-account access would need.
    if (roleAccount !== account && !Token.isUnresolved(roleAccount) && !Token.isUnresolved(account))
      throw new Error(
        `${endpoint.node.path}: ${role.roleArn} is in another account, and an HTTP API accepts no roles of other accounts. Grant this to a role in account ${account}, and let the other role assume it.`,
      );
    return `arn:${partition}:sts::${roleAccount}:assumed-role/${roleNameVisibleTo(endpoint, role)}/*`;
  }
  if ('userArn' in principal) return (principal as IUser).userArn;
  const found = principal instanceof UnknownPrincipal ? 'a resource imported without its role' : principal;
  throw new Error(
    `${endpoint.node.path}: the grantee must be a role, a user, or a resource with a role; found ${found}. List other callers in \`iamCallers\`, and allow them execute-api:Invoke.`,
  );
}
