import * as z from 'zod';

/** The schemas that are components of the OpenAPI document. */
export const SCHEMA_REGISTRY = z.registry<{ id: string }>();

const ids = new Set<string>();

/** Registers a schema as a component under a name, and returns it. Throws if the name is taken. */
export function namedSchema<S extends z.ZodType>(id: string, schema: S): S {
  if (ids.has(id)) throw new Error(`Two schemas have the name "${id}". Rename one of them.`);
  ids.add(id);
  SCHEMA_REGISTRY.add(schema, { id });
  return schema;
}
