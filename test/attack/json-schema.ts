/** What of JSON Schema the description of the API uses. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
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
    '$ref type enum const anyOf properties required additionalProperties propertyNames items maxItems ' +
    'minLength maxLength pattern format minimum maximum exclusiveMinimum description'
  ).split(' '),
);

/** The schema that another one refers to; itself when it refers to none. */
export function resolveSchema(schemas: Schemas, schema: JsonSchema): JsonSchema {
  const { $ref } = schema;
  if ($ref === undefined) return schema;
  const name = $ref.replace('#/components/schemas/', '');
  const found = schemas[name];
  if (!found) throw new Error(`The description refers to ${$ref}, which it does not have.`);
  return resolveSchema(schemas, found);
}

/** What of a value does not fit a schema, by place. It knows nothing of what the application checks by. */
export function schemaErrors(schemas: Schemas, given: JsonSchema, value: unknown, at = ''): readonly string[] {
  const schema = resolveSchema(schemas, given);
  for (const keyword of Object.keys(schema))
    if (!KNOWN.has(keyword)) throw new Error(`The description uses ${keyword}, which is not looked at here.`);
  const fault = (text: string) => [`${at || '/'} ${text}: ${JSON.stringify(value)?.slice(0, 120)}`];
  if (schema.anyOf) {
    const each = schema.anyOf.map((one) => schemaErrors(schemas, one, value, at));
    return each.some(({ length }) => length === 0) ? [] : fault('fits none of several');
  }
  if (schema.enum && !schema.enum.includes(value)) return fault(`is none of ${schema.enum.join(', ')}`);
  if ('const' in schema && schema.const !== value) return fault(`is not ${schema.const}`);
  if (schema.type !== undefined && !isOf(schema.type, value)) return fault(`is no ${schema.type}`);
  if (typeof value === 'string') return faultsOfText(schema, value).flatMap(fault);
  if (typeof value === 'number') return isWithin(schema, value) ? [] : fault('is out of range');
  if (Array.isArray(value)) {
    const { items, maxItems = Infinity } = schema;
    if (value.length > maxItems) return fault('has too many items');
    return items ? value.flatMap((item, i) => schemaErrors(schemas, items, item, `${at}/${i}`)) : [];
  }
  return isObject(value) && schema.type === 'object' ? faultsOfFields(schemas, schema, value, at) : [];
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isOf(type: NonNullable<JsonSchema['type']>, value: unknown): boolean {
  if (type === 'object') return isObject(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'null') return value === null;
  return typeof value === type;
}

// As RFC 3339 has it, which knows no year of five digits.
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

function faultsOfText({ minLength = 0, maxLength = Infinity, pattern, format }: JsonSchema, text: string): string[] {
  if (text.length < minLength || text.length > maxLength) return ['has another length'];
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(text)) return [`does not match ${pattern}`];
  if (format === 'date-time' && !(MOMENT.test(text) && Number.isFinite(Date.parse(text)))) return ['is no moment'];
  return [];
}

const isWithin = ({ minimum = -Infinity, maximum = Infinity, exclusiveMinimum }: JsonSchema, value: number): boolean =>
  value >= minimum && value <= maximum && (exclusiveMinimum === undefined || value > exclusiveMinimum);

function faultsOfFields(
  schemas: Schemas,
  { properties = {}, required = [], additionalProperties = true, propertyNames }: JsonSchema,
  value: Readonly<Record<string, unknown>>,
  at: string,
): readonly string[] {
  const missing = required.filter((name) => !Object.hasOwn(value, name)).map((name) => `${at}/${name} is missing`);
  const wrong = Object.entries(value).flatMap(([name, field]) => {
    const place = `${at}/${name}`;
    const named = propertyNames ? schemaErrors(schemas, propertyNames, name, place) : [];
    if (Object.hasOwn(properties, name))
      return [...named, ...schemaErrors(schemas, properties[name] ?? {}, field, place)];
    if (additionalProperties === false) return [`${place} is not described`];
    return additionalProperties === true
      ? named
      : [...named, ...schemaErrors(schemas, additionalProperties, field, place)];
  });
  return [...missing, ...wrong];
}
