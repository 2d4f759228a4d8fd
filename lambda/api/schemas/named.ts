import * as z from 'zod';

/** The schemas that the description of the API has names for. */
export const NAMED = z.registry<{ id: string }>();

/** A schema that is described once, under a name. */
export function named<S extends z.ZodType>(id: string, schema: S): S {
  NAMED.add(schema, { id });
  return schema;
}
