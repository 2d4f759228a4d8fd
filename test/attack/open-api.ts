import type { JsonSchema } from './json-schema.ts';

/** The part of an OpenAPI document that the tests read. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

interface DescribedOperation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
  readonly responses: Readonly<Record<string, Response>>;
  readonly 'x-waitstate-roles': readonly string[];
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: JsonSchema;
}

interface Response {
  readonly content?: Readonly<Record<string, { readonly schema?: JsonSchema }>>;
}

/** One described operation. */
export interface Operation {
  readonly name: string;
  readonly method: string;
  /** With parameters in braces. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: JsonSchema | undefined;
  /** The content types that it accepts. */
  readonly types: readonly string[];
  readonly responses: Readonly<Record<string, Response>>;
  /** The roles that may call it; empty if an approval link is enough. */
  readonly roles: readonly string[];
}

/** All operations of a description. */
export const operationsOf = ({ paths }: OpenApi): readonly Operation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]): Operation => {
      const { content = {} } = described.requestBody ?? {};
      return {
        path,
        name: described.operationId,
        method: method.toUpperCase(),
        responses: described.responses,
        parameters: described.parameters ?? [],
        body: content['application/json']?.schema,
        types: Object.keys(content),
        roles: described['x-waitstate-roles'],
      };
    }),
  );

/** All operations at the path of a URL, with any method. */
export function operationsAt(operations: readonly Operation[], url: URL): readonly Operation[] {
  const parts = url.pathname.split('/');
  return operations.filter(({ path }) => {
    const pattern = path.split('/');
    return (
      pattern.length === parts.length &&
      pattern.every((part, i) => (part.startsWith('{') ? parts[i] !== '' : part === decoded(parts[i] ?? '')))
    );
  });
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
