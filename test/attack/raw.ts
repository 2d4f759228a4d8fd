/** JSON as text, for JSON without an equivalent in JavaScript: `1e400`, a duplicate key, a key `__proto__`. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Serializes a value that may contain raw JSON. */
export function textOf(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  return `{${Object.entries(value)
    .map(([key, field]) => `${JSON.stringify(key)}:${textOf(field)}`)
    .join(',')}}`;
}
