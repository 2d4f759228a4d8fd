import * as z from 'zod';

/** The schemas that the description of the API has names for. */
export const SCHEMA_REGISTRY = z.registry<{ id: string }>();

/** A schema that is described once, under a name. */
export function namedSchema<S extends z.ZodType>(id: string, schema: S): S {
  SCHEMA_REGISTRY.add(schema, { id });
  return schema;
}
