import { WaitstateError } from '../../core/errors.ts';

/** The interface of zod, valibot, arktype and other schema libraries: https://standardschema.dev */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Standard JSON Schema, if the library implements it: https://standardschema.dev/json-schema */
    readonly jsonSchema?:
      | { readonly input: (options: JsonSchemaOptions) => Readonly<Record<string, unknown>> }
      | undefined;
  };
}

interface JsonSchemaOptions {
  readonly target: 'draft-2020-12';
  /** Options of one library. */
  readonly libraryOptions?: Record<string, unknown>;
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Validates a value and returns the schema's output; throws SCHEMA_REFUSED with the first ten issues otherwise. */
export async function validate<Output>(
  subject: string,
  schema: StandardSchema<unknown, Output> | undefined,
  value: unknown,
): Promise<Output> {
  if (!schema) return value as Output;
  const result = await schema['~standard'].validate(value);
  if (!result.issues) return result.value;
  const messages = result.issues.map(({ message, path = [] }) => {
    const keys = path.map((part) => String(typeof part === 'object' ? part.key : part));
    return keys.length > 0 ? `${keys.join('.')}: ${message}` : message;
  });
  throw new WaitstateError(
    'SCHEMA_REFUSED',
    `${subject} does not match its schema: ${messages.slice(0, 10).join('; ')}.`,
  );
}

/** Whether a value implements Standard Schema. */
export const isStandardSchema = (value: unknown): value is StandardSchema =>
  (typeof value === 'object' || typeof value === 'function') &&
  value !== null &&
  typeof (value as Partial<StandardSchema>)['~standard']?.validate === 'function';
