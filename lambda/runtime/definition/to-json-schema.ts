import type { JsonSchema } from '../../core/forms/json-schema.ts';
import { MAX_SCHEMA_BYTES } from '../../core/forms/question-schema.ts';
import type { StandardSchema } from './standard-schema.ts';

// Zod would refuse a whole schema because of one field that JSON cannot have; forms then show JSON for this field.
const ZOD_OPTIONS = { unrepresentable: 'any' };

/** The JSON Schema of what a schema accepts; undefined if its library has none, or if it is too large for a form. */
export function toJsonSchema({ '~standard': { jsonSchema, vendor } }: StandardSchema): JsonSchema | undefined {
  if (typeof jsonSchema?.input !== 'function') return undefined;
  try {
    const libraryOptions = vendor === 'zod' ? ZOD_OPTIONS : undefined;
    const text = JSON.stringify(
      jsonSchema.input({ target: 'draft-2020-12', ...(libraryOptions && { libraryOptions }) }),
    );
    if (Buffer.byteLength(text) > MAX_SCHEMA_BYTES) return undefined;
    const { $schema: _dialect, ...schema } = JSON.parse(text);
    return schema;
  } catch {
    return undefined;
  }
}
