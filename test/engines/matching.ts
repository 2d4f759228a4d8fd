/** Whether a stream record matches one of the patterns, by the rules of Lambda's event filters that this project uses. */
export const matching =
  (patterns: readonly object[]) =>
  (record: unknown): boolean =>
    patterns.some((pattern) => matches(pattern, record));

/** Every field of a pattern must match; a list of rules matches if one of them does. */
function matches(pattern: unknown, value: unknown): boolean {
  if (Array.isArray(pattern)) return pattern.some((rule) => matchesRule(rule, value));
  if (typeof pattern !== 'object' || pattern === null)
    throw new Error(`Expected a pattern; found ${JSON.stringify(pattern)}.`);
  const fields = Object(value) as Record<string, unknown>;
  return Object.entries(pattern).every(([name, inner]) => matches(inner, fields[name]));
}

function matchesRule(rule: unknown, value: unknown): boolean {
  if (typeof rule === 'string') return value === rule;
  const [[operator, operand] = [], ...rest] = Object.entries(Object(rule));
  if (operator === 'prefix' && typeof operand === 'string' && rest.length === 0)
    return typeof value === 'string' && value.startsWith(operand);
  // Lambda supports `exists` only for leaf fields.
  if (operator === 'exists' && typeof operand === 'boolean' && rest.length === 0)
    return (value !== undefined && typeof value !== 'object') === operand;
  throw new Error(`Expected a filter rule that this test supports; found ${JSON.stringify(rule)}.`);
}
