import { Stack, Token } from 'aws-cdk-lib';
import { HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import { Grant, type IGrantable, type IRole, type IUser, UnknownPrincipal } from 'aws-cdk-lib/aws-iam';
import type { IamCaller } from '../lambda/http/authorizer-caller.ts';
import type { Role } from '../lambda/http/caller.ts';
import { acknowledgeWildcards } from './acknowledge.ts';
import type { HttpEndpoint } from './http-endpoint.ts';
import { roleNameVisibleTo } from './other-stacks.ts';

/** What somebody may do through the API: the routes that IAM opens, and who the application takes them for. */
export interface ApiPermission {
  readonly routes: readonly (readonly [HttpMethod, string])[];
  readonly roles: readonly Role[];
  readonly answersForOthers?: boolean;
}

const { ANY, GET, POST } = HttpMethod;

/** Starts runs, and nothing else. */
export const START: ApiPermission = { routes: [[POST, '/api/runs']], roles: ['starter'] };

/** Shows people what they are asked, and answers in their names. */
export const APPROVE: ApiPermission = {
  routes: [
    [GET, '/api/me'],
    [GET, '/api/approvals'],
    [GET, '/api/runs/*/approvals/*'],
    [POST, '/api/runs/*/approvals/*/decide'],
  ],
  roles: ['approver'],
  answersForOthers: true,
};

/** Looks. */
export const READ: ApiPermission = {
  routes: [
    [GET, '/api/*'],
    [GET, '/console'],
    [GET, '/console/*'],
  ],
  roles: ['viewer'],
};

/** Everything that an operator does. */
export const OPERATE: ApiPermission = {
  routes: [
    [ANY, '/api/*'],
    [ANY, '/console'],
    [ANY, '/console/*'],
  ],
  roles: ['operator', 'viewer'],
};

/** Who may call the API by IAM. A caller that is permitted several things is one caller with all of them. */
export class CallerRegistry {
  readonly #given: ReadonlyMap<string, IamCaller>;
  readonly #granted = new Map<string, IamCaller>();

  constructor(given: Readonly<Record<string, IamCaller>> = {}) {
    this.#given = new Map(Object.entries(given));
  }

  /** Lets a role or a user through IAM, and has the application know them. */
  grant(
    entrance: HttpEndpoint,
    grantee: IGrantable,
    { routes, roles, answersForOthers }: ApiPermission,
    tenant: string,
  ): Grant {
    const arn = arnOf(entrance, grantee);
    const known = this.#granted.get(arn) ?? this.#given.get(arn);
    if (known && known.tenant !== tenant)
      throw new Error(
        `${entrance.node.path}: a caller has one tenant; found "${known.tenant}" and "${tenant}" for one role. Use a role for each tenant.`,
      );
    this.#granted.set(arn, {
      ...known,
      tenant,
      roles: [...new Set([...(known?.roles ?? []), ...roles])],
      ...(answersForOthers && { answersForOthers }),
    });
    const resourceArns = routes.map(([method, path]) => entrance.routeArn(method, path));
    acknowledgeWildcards(
      grantee.grantPrincipal,
      resourceArns,
      'Paths have ids of runs in them, and the API has one stage.',
    );
    return Grant.addToPrincipal({ grantee, actions: ['execute-api:Invoke'], resourceArns });
  }

  /** As the handler reads them: the first that fits counts, so a pattern does not take a role from its grant. */
  toJson(): string {
    return JSON.stringify(
      Object.fromEntries([...this.#granted, ...[...this.#given].filter(([arn]) => !this.#granted.has(arn))]),
    );
  }
}

/** What IAM calls somebody when they call: of a role, whatever the name of the session. */
function arnOf(entrance: HttpEndpoint, { grantPrincipal: principal }: IGrantable): string {
  const { partition, account } = Stack.of(entrance);
  if ('roleName' in principal) {
    const role = principal as IRole;
    const { principalAccount: theirs = account } = role;
    // An HTTP API has no policy of its own that could let them in.
    if (theirs !== account && !Token.isUnresolved(theirs) && !Token.isUnresolved(account))
      throw new Error(
        `${entrance.node.path}: ${role.roleArn} is of another account, and IAM lets none in from there. Have it assume a role of account ${account}, and grant that.`,
      );
    return `arn:${partition}:sts::${theirs}:assumed-role/${roleNameVisibleTo(entrance, role)}/*`;
  }
  if ('userArn' in principal) return (principal as IUser).userArn;
  const found = principal instanceof UnknownPrincipal ? 'something imported without its role' : principal;
  throw new Error(
    `${entrance.node.path}: permission is given to a role, a user, or what has a role; found ${found}. Name others in \`iamCallers\`, and allow them execute-api:Invoke.`,
  );
}
