import type { JsonSchema } from './json-schema.ts';

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

/** The limits of a number, as a phrase such as "a whole number from 1 to 9". */
export function describeNumber(schema: JsonSchema): string {
  const what = isWhole(schema) ? 'a whole number' : 'a number';
  const { min, max, above, below, step } = numberLimits(schema);
  const range =
    min !== undefined && max !== undefined
      ? ` from ${min} to ${max}`
      : [
          above !== undefined && ` above ${above}`,
          min !== undefined && ` from ${min}`,
          below !== undefined && ` below ${below}`,
          max !== undefined && ` up to ${max}`,
        ]
          .filter((part) => part !== false)
          .join(' and');
  return what + range + (step === undefined ? '' : `, a multiple of ${step}`);
}

export const isWhole = ({ type }: JsonSchema): boolean => type === 'integer';

// Schema libraries add these limits to every whole number; people need not read them.
const isSafeLimit = (limit: number): boolean => Math.abs(limit) === Number.MAX_SAFE_INTEGER;

/** The limits of a number that a schema states. */
function numberLimits(schema: JsonSchema) {
  const limit = (keyword: string) => {
    const value = numberOf(schema[keyword]);
    return value !== undefined && isSafeLimit(value) ? undefined : value;
  };
  return {
    min: limit('minimum'),
    max: limit('maximum'),
    above: limit('exclusiveMinimum'),
    below: limit('exclusiveMaximum'),
    step: limit('multipleOf'),
  };
}

/** Whether a number is within the limits of a schema. */
export function fitsNumber(schema: JsonSchema, value: number): boolean {
  const { min = -Infinity, max = Infinity, above = -Infinity, below = Infinity, step } = numberLimits(schema);
  if (!Number.isFinite(value) || (isWhole(schema) && !Number.isSafeInteger(value))) return false;
  if (value < min || value > max || value <= above || value >= below) return false;
  // 0.3 is a multiple of 0.1, although their quotient is not a whole number in binary.
  return step === undefined || step <= 0 || Math.abs(value / step - Math.round(value / step)) < 1e-9;
}

/** The limits of a text's length; undefined if it has none that people must know. */
export function describeLength({ minLength, maxLength }: JsonSchema): string | undefined {
  const [min, max] = [numberOf(minLength) ?? 0, numberOf(maxLength)];
  const characters = (count: number) => `${count.toLocaleString('en-US')} character${count === 1 ? '' : 's'}`;
  if (min > 1) return max === undefined ? `at least ${characters(min)}` : `${min} to ${characters(max)}`;
  return max === undefined ? undefined : `at most ${characters(max)}`;
}

/**
 * Whether a text has an allowed length. Libraries count characters in different ways (code points, UTF-16 units), so a
 * text is refused only if both ways agree.
 */
export function fitsLength({ minLength, maxLength }: JsonSchema, text: string): boolean {
  return text.length >= (numberOf(minLength) ?? 0) && [...text].length <= (numberOf(maxLength) ?? Infinity);
}

/** The limits of a list's length; undefined if it has none. */
export function describeCount({ minItems, maxItems }: JsonSchema): string | undefined {
  const [min, max] = [numberOf(minItems) ?? 0, numberOf(maxItems)];
  const values = (count: number) => (count === 1 ? '1 value' : `${count} values`);
  if (min > 0 && max !== undefined) return min === max ? `exactly ${values(min)}` : `${min} to ${values(max)}`;
  if (min > 0) return `at least ${values(min)}`;
  return max === undefined ? undefined : `at most ${values(max)}`;
}

export const fitsCount = ({ minItems, maxItems }: JsonSchema, count: number): boolean =>
  count >= (numberOf(minItems) ?? 0) && count <= (numberOf(maxItems) ?? Infinity);

const isDate = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text) === true;

/** What a text of a format is, and whether a text is that. */
export const TEXT_FORMATS: Readonly<Record<string, { readonly what: string; fits(text: string): boolean }>> = {
  date: { what: 'a date such as 2030-12-31', fits: isDate },
  'date-time': {
    what: 'a date and time such as 2030-12-31T09:30:00Z',
    fits: (text) => isDate(text.slice(0, 10)) && /^[Tt ]/.test(text.slice(10)) && !Number.isNaN(Date.parse(text)),
  },
  time: { what: 'a time such as 09:30', fits: (text) => /^([01]\d|2[0-3]):[0-5]\d/.test(text) },
  email: { what: 'an email address', fits: (text) => /^[^\s@]+@[^\s@]+$/.test(text) },
  uri: { what: 'a URL such as https://example.com', fits: (text) => URL.canParse(text) },
};
