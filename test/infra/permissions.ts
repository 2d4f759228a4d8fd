import type { StackTemplate } from './template.ts';

interface Statement {
  readonly Effect: string;
  readonly Action?: string | readonly string[];
  readonly Resource?: unknown;
  readonly Principal?: unknown;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The document of a policy. */
export interface Policy {
  readonly Statement: readonly Statement[];
}

/** The permissions of each role, as lines such as `dynamodb:{GetItem,Query} on Table [condition]`. */
export function permissionsOf(template: StackTemplate): Readonly<Record<string, readonly string[]>> {
  const roles = template.all<RoleProperties>('AWS::IAM::Role').map((role) => {
    const attached = template
      .all<{ Roles?: readonly unknown[]; PolicyDocument: Policy }>('AWS::IAM::Policy')
      .filter(({ Properties }) => Properties.Roles?.some((each) => template.text(each) === `<${role.name}>`))
      .map(({ Properties }) => Properties.PolicyDocument);
    const inline = (role.Properties.Policies ?? []).map(({ PolicyDocument }) => PolicyDocument);
    const managed = (role.Properties.ManagedPolicyArns ?? []).map((arn) => `managed ${template.text(arn)}`);
    return [role.name, [...linesOf(template, [...attached, ...inline]), ...managed].sort()] as const;
  });
  return Object.fromEntries(roles);
}

interface RoleProperties {
  readonly Policies?: readonly { readonly PolicyDocument: Policy }[];
  readonly ManagedPolicyArns?: readonly unknown[];
}

/** The statements of policies as lines, one for each resource and condition. */
export function linesOf(template: StackTemplate, policies: readonly Policy[]): readonly string[] {
  const single = policies
    .flatMap(({ Statement }) => Statement)
    .flatMap((statement) => toSingleActions(template, statement));
  const together = Map.groupBy(single, ({ service, on }) => `${service} ${on}`);
  return [...together.values()].map((group) => {
    const [{ service, on } = { service: '', on: '' }] = group;
    const actions = [...new Set(group.map(({ action }) => action))].sort();
    return `${service}:${actions.length === 1 ? actions[0] : `{${actions.join(',')}}`} ${on}`;
  });
}

/** Splits a statement into single actions on single resources; throws on fields that it does not know. */
function toSingleActions(template: StackTemplate, statement: Statement) {
  const { Effect, Action, Resource, Principal, Condition, ...rest } = statement;
  const odd = Object.keys(rest).filter((key) => key !== 'Sid');
  if (odd.length > 0 || Action === undefined) throw new Error(`A statement has ${odd}, or no actions.`);
  const by = Principal === undefined ? '' : ` by ${principalOf(template, Principal)}`;
  const how = Effect === 'Allow' ? '' : `${Effect}: `;
  const condition = Condition === undefined ? '' : ` [${conditionsOf(template, Condition)}]`;
  return listOf(Action).flatMap((each) =>
    listOf(Resource).map((resource) => {
      const [service = '', action = each] = String(each).includes(':') ? String(each).split(':') : ['*'];
      return { service: how + service, action, on: `on ${shortenResource(template.text(resource))}${by}${condition}` };
    }),
  );
}

/** Shortens a resource of the stack to its name, and an API route to method and path. */
const shortenResource = (resource: string): string =>
  resource
    .replace(/^<([^:<>]+)\.(?:Arn|QueueArn|TopicArn)>/, '$1')
    .replace(/^<([^:<>]+)>$/, '$1')
    .replace(
      /^arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:<(\w+)\/Http>\/\*\/([A-Z]+|\*)\//,
      '$1: $2 /',
    );

function conditionsOf(template: StackTemplate, conditions: NonNullable<Statement['Condition']>): string {
  const each = Object.entries(conditions).flatMap(([operator, keys]) =>
    Object.entries(keys).map(
      ([key, values]) =>
        `${operator} ${key} ${listOf(values)
          .map((value) => template.text(value))
          .join(' ')}`,
    ),
  );
  return each.sort().join(', ');
}

function principalOf(template: StackTemplate, principal: unknown): string {
  if (typeof principal !== 'object' || principal === null) return String(principal);
  return Object.entries(principal)
    .flatMap(([kind, values]) => listOf(values).map((value) => `${kind} ${template.text(value)}`))
    .join(' and ');
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);
