/** A policy statement in a template. */
export interface Statement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

/** An action on a resource, with the condition keys of the request. */
export interface AccessRequest {
  readonly action: string;
  readonly resource: string;
  readonly context?: Readonly<Record<string, readonly string[]>>;
}

/** One action of a statement on one of its resources. */
export interface Permission {
  readonly action: string;
  readonly resource: string;
}

/** All permissions of policies. */
export const permissionsOf = (statements: readonly Statement[]): readonly Permission[] =>
  statements.flatMap((statement) =>
    listOf(statement.Action).flatMap((action) => listOf(statement.Resource).map((resource) => ({ action, resource }))),
  );

/**
 * The permissions that allow a request; empty if it is denied, which is the default in IAM.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
 */
export function allowedBy(statements: readonly Statement[], wanted: AccessRequest): readonly Permission[] {
  const allowing: Permission[] = [];
  for (const statement of statements) {
    const { Effect, Condition = {}, ...rest } = statement;
    const unknown = Object.keys(rest).filter((key) => !KNOWN.has(key));
    if (Effect !== 'Allow' || unknown.length > 0)
      throw new Error(`A statement with Effect ${Effect} and ${unknown.join(', ')} is not known to policy.ts.`);
    const fitting = permissionsOf([statement]).filter(
      ({ action, resource }) =>
        like(action.toLowerCase(), wanted.action.toLowerCase()) && like(resource, wanted.resource),
    );
    if (fitting.length > 0 && isMet(Condition, wanted.context ?? {})) allowing.push(...fitting);
  }
  return allowing;
}

const KNOWN = new Set(['Action', 'Resource', 'Sid']);

const listOf = (value: string | readonly string[]): readonly string[] => (typeof value === 'string' ? [value] : value);

/** Whether a text matches a pattern, where `*` is any text and `?` any character. */
export const like = (pattern: string, text: string): boolean =>
  new RegExp(
    `^${pattern
      .replaceAll(/[\\^$.+()[\]{}|]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
    's',
  ).test(text);

type Compare = (expected: string, found: string) => boolean;

const COMPARE: Readonly<Record<string, Compare>> = {
  StringEquals: (expected, found) => expected === found,
  StringLike: like,
};

/** All operators, and all keys of each, must match. */
function isMet(
  conditions: NonNullable<Statement['Condition']>,
  context: NonNullable<AccessRequest['context']>,
): boolean {
  return Object.entries(conditions).every(([operator, keys]) =>
    Object.entries(keys).every(([key, expected]) => isSatisfied(operator, listOf(expected), context[key])),
  );
}

/**
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-single-vs-multi-valued-context-keys.html
 */
function isSatisfied(operator: string, expected: readonly string[], found: readonly string[] | undefined): boolean {
  if (operator === 'Null') return expected.includes(String(found === undefined));
  const [, set, name = ''] = /^(?:(ForAllValues|ForAnyValue):)?(\w+)$/.exec(operator) ?? [];
  const compare = COMPARE[name];
  if (!compare) throw new Error(`The condition operator ${operator} is not known to policy.ts.`);
  const fits = (value: string) => expected.some((each) => compare(each, value));
  if (set === 'ForAllValues') return (found ?? []).every(fits);
  if (set === 'ForAnyValue') return (found ?? []).some(fits);
  if (found && found.length > 1) throw new Error(`${operator} is for one value; found ${found.join(', ')}.`);
  return (found ?? []).some(fits);
}
