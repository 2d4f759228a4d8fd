/** JSON whose fields are sorted: equal values have equal text, in whatever order their fields were given. */
export const sortedJson = (value: unknown): string => JSON.stringify(sortFields(value));

function sortFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortFields);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, each]) => [name, sortFields(each)]));
}
