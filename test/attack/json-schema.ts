/** The part of JSON Schema that the description of the API uses. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly propertyNames?: JsonSchema;
  readonly items?: JsonSchema;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly description?: string;
}

export type Schemas = Readonly<Record<string, JsonSchema>>;

const KNOWN = new Set(
  (
    '$ref type enum const anyOf oneOf properties required additionalProperties propertyNames items maxItems ' +
    'minLength maxLength pattern format minimum maximum exclusiveMinimum description'
  ).split(' '),
);

/** Follows the reference of a schema; returns the schema itself if it has none. */
export function resolveSchema(schemas: Schemas, schema: JsonSchema): JsonSchema {
  const { $ref } = schema;
  if ($ref === undefined) return schema;
  const name = $ref.replace('#/components/schemas/', '');
  const found = schemas[name];
  if (!found) throw new Error(`Expected the description to contain ${$ref}, which it refers to; it does not.`);
  return resolveSchema(schemas, found);
}

/** The errors of a value against a schema, with their paths; independent of the application's own validation. */
export function schemaErrors(schemas: Schemas, given: JsonSchema, value: unknown, at = ''): readonly string[] {
  const schema = resolveSchema(schemas, given);
  for (const keyword of Object.keys(schema))
    if (!KNOWN.has(keyword))
      throw new Error(`Expected only known keywords in the description; found ${keyword}, which this check lacks.`);
  const error = (text: string) => [`${at || '/'} ${text}: ${JSON.stringify(value)?.slice(0, 120)}`];
  if (schema.anyOf) {
    const each = schema.anyOf.map((one) => schemaErrors(schemas, one, value, at));
    return each.some(({ length }) => length === 0) ? [] : error('matches no alternative');
  }
  if (schema.oneOf) {
    const matching = schema.oneOf.filter((one) => schemaErrors(schemas, one, value, at).length === 0);
    return matching.length === 1 ? [] : error(`matches ${matching.length} alternatives instead of one`);
  }
  if (schema.enum && !schema.enum.includes(value)) return error(`is not one of ${schema.enum.join(', ')}`);
  if ('const' in schema && schema.const !== value) return error(`is not ${schema.const}`);
  if (schema.type !== undefined && !hasType(schema.type, value)) return error(`is not of type ${schema.type}`);
  if (typeof value === 'string') return textErrors(schema, value).flatMap(error);
  if (typeof value === 'number') return isWithin(schema, value) ? [] : error('is out of range');
  if (Array.isArray(value)) {
    const { items, maxItems = Infinity } = schema;
    if (value.length > maxItems) return error('has too many items');
    return items ? value.flatMap((item, i) => schemaErrors(schemas, items, item, `${at}/${i}`)) : [];
  }
  return isObject(value) && schema.type === 'object' ? fieldErrors(schemas, schema, value, at) : [];
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function hasType(type: NonNullable<JsonSchema['type']>, value: unknown): boolean {
  if (type === 'object') return isObject(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'null') return value === null;
  return typeof value === type;
}

// The format of RFC 3339, which has no years of five digits.
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

function textErrors({ minLength = 0, maxLength = Infinity, pattern, format }: JsonSchema, text: string): string[] {
  if (text.length < minLength || text.length > maxLength) return ['has the wrong length'];
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(text)) return [`does not match ${pattern}`];
  if (format === 'date-time' && !(DATE_TIME.test(text) && Number.isFinite(Date.parse(text))))
    return ['is not a date-time'];
  return [];
}

const isWithin = ({ minimum = -Infinity, maximum = Infinity, exclusiveMinimum }: JsonSchema, value: number): boolean =>
  value >= minimum && value <= maximum && (exclusiveMinimum === undefined || value > exclusiveMinimum);

function fieldErrors(
  schemas: Schemas,
  { properties = {}, required = [], additionalProperties = true, propertyNames }: JsonSchema,
  value: Readonly<Record<string, unknown>>,
  at: string,
): readonly string[] {
  const missing = required.filter((name) => !Object.hasOwn(value, name)).map((name) => `${at}/${name} is missing`);
  const wrong = Object.entries(value).flatMap(([name, field]) => {
    const path = `${at}/${name}`;
    const named = propertyNames ? schemaErrors(schemas, propertyNames, name, path) : [];
    if (Object.hasOwn(properties, name))
      return [...named, ...schemaErrors(schemas, properties[name] ?? {}, field, path)];
    if (additionalProperties === false) return [`${path} is not described`];
    return additionalProperties === true
      ? named
      : [...named, ...schemaErrors(schemas, additionalProperties, field, path)];
  });
  return [...missing, ...wrong];
}
