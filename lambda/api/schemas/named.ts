import * as z from 'zod';

/** The schemas that are components of the OpenAPI document. */
export const SCHEMA_REGISTRY = z.registry<{ id: string }>();

/** Registers a schema as a component under a name, and returns it. */
export function namedSchema<S extends z.ZodType>(id: string, schema: S): S {
  SCHEMA_REGISTRY.add(schema, { id });
  return schema;
}
