/** A JSON Schema (draft 2020-12): https://json-schema.org/draft/2020-12 */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A schema after its references were followed. */
export interface ResolvedSchema {
  readonly schema: JsonSchema;
  readonly isNullable: boolean;
  /** The references that led here; one that occurs twice never ends. */
  readonly refs: readonly string[];
}

const MAX_REFS = 20;

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The own field of an object; undefined if it has none, also for a name such as `__proto__`. */
export const fieldOf = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** The members of a keyword that is a list of schemas. */
export const schemasOf = (list: unknown): readonly JsonSchema[] => (Array.isArray(list) ? list.filter(isRecord) : []);

/**
 * Follows references inside the document, and separates `null` from the rest. Undefined for a schema that refers to
 * itself, or to something outside.
 */
export function resolveSchema(
  root: JsonSchema,
  schema: JsonSchema,
  refs: readonly string[] = [],
): ResolvedSchema | undefined {
  const { $ref: ref, allOf, ...rest } = schema;
  if (typeof ref === 'string') {
    const target = refs.length < MAX_REFS && !refs.includes(ref) ? findReference(root, ref) : undefined;
    return target && resolveSchema(root, { ...target, ...rest, ...(allOf !== undefined && { allOf }) }, [...refs, ref]);
  }
  const [only, ...more] = schemasOf(allOf);
  if (only && more.length === 0) return resolveSchema(root, { ...only, ...rest }, refs);
  const { schema: withoutNull, isNullable } = separateNull(schema);
  if (withoutNull !== schema && '$ref' in withoutNull) {
    const inner = resolveSchema(root, withoutNull, refs);
    return inner && { ...inner, isNullable };
  }
  return { schema: withoutNull, isNullable, refs };
}

/** The schema at a reference such as `#/$defs/Seat`. */
function findReference(root: JsonSchema, ref: string): JsonSchema | undefined {
  if (ref === '#') return root;
  if (!ref.startsWith('#/')) return undefined;
  const names = ref.slice(2).split('/').map(unescapePointer);
  const found = names.reduce<unknown>((value, name) => fieldOf(value, name), root);
  return isRecord(found) ? found : undefined;
}

/** The schema without `null`, and whether `null` was among its values. */
function separateNull(schema: JsonSchema): { readonly schema: JsonSchema; readonly isNullable: boolean } {
  const { type, anyOf, oneOf, enum: values, ...rest } = schema;
  if (Array.isArray(type) && type.includes('null')) {
    const types = type.filter((each) => each !== 'null');
    const others = Array.isArray(values) ? { enum: values.filter((each) => each !== null) } : {};
    return { schema: { ...schema, ...others, type: types.length === 1 ? types[0] : types }, isNullable: true };
  }
  if (Array.isArray(values) && values.includes(null))
    return { schema: { ...schema, enum: values.filter((each) => each !== null) }, isNullable: true };
  const members = anyOf ?? oneOf;
  const others = schemasOf(members).filter((member) => member.type !== 'null' && member.const !== null);
  const isNullable = Array.isArray(members) && others.length < members.length;
  const [only, ...more] = others;
  if (!isNullable || !only) return { schema, isNullable: false };
  return { schema: more.length === 0 ? { ...only, ...rest } : { ...rest, anyOf: others }, isNullable };
}

/** A name as a part of a JSON pointer: https://www.rfc-editor.org/rfc/rfc6901 */
export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

const unescapePointer = (part: string): string => {
  let name = part;
  try {
    name = decodeURIComponent(part);
  } catch {
    // Not percent-encoded.
  }
  return name.replaceAll('~1', '/').replaceAll('~0', '~');
};
