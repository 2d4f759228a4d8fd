/** Whether a record of a stream matches one of the patterns, as Lambda would have it. Knows only the rules that we use. */
export const matching =
  (patterns: readonly object[]) =>
  (record: unknown): boolean =>
    patterns.some((pattern) => fits(pattern, record));

/** Every field of a pattern has to fit; where it is a list of rules, the value has to fit one of them. */
function fits(pattern: unknown, value: unknown): boolean {
  if (Array.isArray(pattern)) return pattern.some((rule) => fitsRule(rule, value));
  if (typeof pattern !== 'object' || pattern === null) throw new Error(`No pattern: ${JSON.stringify(pattern)}.`);
  const fields = Object(value) as Record<string, unknown>;
  return Object.entries(pattern).every(([name, inner]) => fits(inner, fields[name]));
}

function fitsRule(rule: unknown, value: unknown): boolean {
  if (typeof rule === 'string') return value === rule;
  const [[operator, operand] = [], ...rest] = Object.entries(Object(rule));
  if (operator === 'prefix' && typeof operand === 'string' && rest.length === 0)
    return typeof value === 'string' && value.startsWith(operand);
  // Of a field that holds others, Lambda does not know whether it exists.
  if (operator === 'exists' && typeof operand === 'boolean' && rest.length === 0)
    return (value !== undefined && typeof value !== 'object') === operand;
  throw new Error(`No rule that Lambda's filters or this test know: ${JSON.stringify(rule)}.`);
}
