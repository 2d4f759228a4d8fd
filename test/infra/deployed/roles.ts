import { type AccessRequest, allowedBy, type Permission, permissionsOf, type Statement } from './policy.ts';
import { allOf, type Deployed } from './resolve.ts';

interface Policy {
  readonly PolicyDocument: { readonly Statement: readonly Statement[] };
  readonly Roles?: readonly string[];
}

/** A request, and whether the role allowed it. */
export interface RecordedRequest extends AccessRequest {
  readonly isAllowed: boolean;
}

/** The roles of a template, each with the permissions of its policies and the requests made with it. */
export class Roles {
  readonly #statements = new Map<string, readonly Statement[]>();
  readonly #used = new Map<string, Set<string>>();
  readonly #requests = new Map<string, RecordedRequest[]>();

  constructor(deployed: Deployed) {
    for (const { ref, properties } of allOf<{ ManagedPolicyArns?: unknown; Policies?: Policy[] }>(
      deployed,
      'AWS::IAM::Role',
    )) {
      if (properties.ManagedPolicyArns)
        throw new Error(`The managed policies of ${ref} are not implemented in roles.ts.`);
      this.#statements.set(
        ref,
        (properties.Policies ?? []).flatMap((each) => each.PolicyDocument.Statement),
      );
    }
    for (const type of ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy'])
      for (const { properties } of allOf<Policy>(deployed, type))
        for (const role of properties.Roles ?? [])
          this.#statements.set(role, [...this.statementsOf(role), ...properties.PolicyDocument.Statement]);
  }

  statementsOf(role: string): readonly Statement[] {
    const statements = this.#statements.get(role);
    if (!statements) throw new Error(`The template has no role ${role}.`);
    return statements;
  }

  /** Whether a role allows a request; records the request. */
  isAllowed(role: string, wanted: AccessRequest): boolean {
    const allowing = allowedBy(this.statementsOf(role), wanted);
    for (const permission of allowing) noted(this.#used, role, () => new Set<string>()).add(keyOf(permission));
    noted(this.#requests, role, (): RecordedRequest[] => []).push({ ...wanted, isAllowed: allowing.length > 0 });
    return allowing.length > 0;
  }

  /** All requests made with a role. */
  requestsOf(role: string): readonly RecordedRequest[] {
    return this.#requests.get(role) ?? [];
  }

  /** The permissions of a role, and whether each was used. */
  permissions(role: string): readonly (Permission & { readonly isUsed: boolean })[] {
    const used = this.#used.get(role);
    return permissionsOf(this.statementsOf(role)).map((each) => ({ ...each, isUsed: used?.has(keyOf(each)) ?? false }));
  }
}

const keyOf = ({ action, resource }: Permission): string => `${action} ${resource}`;

function noted<V>(map: Map<string, V>, key: string, make: () => V): V {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}
