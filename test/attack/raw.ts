/** JSON as text, for what no value of JavaScript becomes: `1e400`, a key twice, a key `__proto__`. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The JSON of a value in which some parts are given as text. */
export function textOf(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  return `{${Object.entries(value)
    .map(([key, field]) => `${JSON.stringify(key)}:${textOf(field)}`)
    .join(',')}}`;
}
