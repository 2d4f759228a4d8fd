import * as z from 'zod';
import { omitUndefined } from '../core/omit-undefined.ts';
import type { ResponseDescription, Route } from './route.ts';
import { SCHEMA_REGISTRY } from './schemas/named.ts';
import { ProblemSchema } from './schemas/problems.ts';

type Json = Record<string, unknown>;

/** Describes routes in OpenAPI 3.1. https://spec.openapis.org/oas/v3.1.1 */
export function toOpenApi(routes: readonly Route[]): object {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    Object.assign(paths[route.path] ?? {}, { [route.method.toLowerCase()]: toOperation(route) });
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Waitstate',
      version: '1',
      description:
        'Runs of agents, their checkpoints and their approvals. Percent-encode ids in paths. Write an id with a slash or another special character, or one that starts with a dot or a tilde, as ~ followed by the id with each byte other than letters, digits, - and _ replaced by ~ and two hex digits.',
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        jwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        iam: { type: 'apiKey', in: 'header', name: 'Authorization', description: 'AWS Signature Version 4' },
      },
    },
  };
}

function toOperation(route: Route): Json {
  const { name, summary, description, access, params, query, headers, body } = route;
  const parameters = [
    ...toParameters('path', params),
    ...toParameters('query', query),
    ...toParameters('header', headers),
  ];
  const accessNote =
    access === 'everyone'
      ? 'No authentication: the token in the link is the credential.'
      : `Roles: ${access.join(', ')}.`;
  return {
    operationId: name,
    summary,
    description: [description, accessNote].filter((text) => text !== undefined).join(' '),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: toRequestBody(body) }),
    responses: toResponses(route),
    security: access === 'everyone' ? [] : [{ jwt: [] }, { iam: [] }],
    'x-waitstate-roles': access === 'everyone' ? [] : access,
  };
}

function toParameters(where: 'path' | 'query' | 'header', schema: z.ZodObject): readonly Json[] {
  const { properties = {}, required = [] } = jsonSchema(schema) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...type }]) => ({
    name,
    in: where,
    required: required.includes(name),
    schema: type,
    ...omitUndefined({ description }),
  }));
}

function toRequestBody({
  schema,
  described = schema,
  acceptsForms = false,
  maxBytes,
}: NonNullable<Route['body']>): Json {
  const isRequired = !described.safeParse({}).success;
  const content = { schema: jsonSchema(described) };
  return {
    required: isRequired,
    description: `At most ${maxBytes / 1024} KB`,
    content: {
      'application/json': content,
      ...(acceptsForms && { 'application/x-www-form-urlencoded': content }),
    },
  };
}

// The problem statuses of every route, of routes with a caller, and of routes with a body.
const COMMON_PROBLEMS = [400, 408, 413, 414, 500, 503, 507];
const CALLER_PROBLEMS = [401, 403];
const BODY_PROBLEMS = [415];

/** The statuses of the problems that a route can respond with. */
export const problemStatuses = ({
  access,
  body,
  problems,
}: Pick<Route, 'access' | 'body' | 'problems'>): readonly number[] =>
  [
    ...new Set([
      ...COMMON_PROBLEMS,
      ...(access === 'everyone' ? [] : CALLER_PROBLEMS),
      ...(body ? BODY_PROBLEMS : []),
      ...problems,
    ]),
  ].sort();

function toResponses(route: Route): Json {
  const responses = Object.entries(route.responses).map(([status, response]) => [status, toResponse(response)]);
  const problem = { 'application/problem+json': { schema: refTo(ProblemSchema) } };
  const problems = problemStatuses(route).map((status) => [
    status,
    { description: STATUS_DESCRIPTIONS[status] ?? '', content: problem },
  ]);
  return Object.fromEntries([...responses, ...problems]);
}

function toResponse({ description, schema, types = [], headers = {} }: ResponseDescription): Json {
  const content = {
    ...(schema && { 'application/json': { schema: jsonSchema(schema) } }),
    ...Object.fromEntries(types.map((type) => [type, {}])),
  };
  const describedHeaders = Object.entries(headers).map(([name, text]) => [
    name,
    { description: text, schema: { type: 'string' } },
  ]);
  return {
    description,
    ...(Object.keys(content).length > 0 && { content }),
    ...(describedHeaders.length > 0 && { headers: Object.fromEntries(describedHeaders) }),
  };
}

const STATUS_DESCRIPTIONS: Readonly<Record<number, string>> = {
  400: 'The request is invalid',
  401: 'The caller is not authenticated',
  403: 'The caller is not allowed to do this',
  404: 'Not found',
  408: 'The body did not arrive in time',
  409: 'The current status does not allow this, or another decision was recorded before',
  410: 'Gone: expired, withdrawn, deleted, shredded or pruned',
  412: 'Conflict: another writer saved first; `found` has the current version',
  413: 'Too large',
  414: 'The URL is too long',
  415: 'The media type of the body is not supported',
  422: 'The Idempotency-Key was used before with another request',
  428: 'If-Match or If-None-Match is required',
  500: 'An internal error occurred',
  503: 'The storage is unavailable; try again later',
  507: 'The storage is full',
};

const refTo = (schema: z.ZodType): Json => ({ $ref: `#/components/schemas/${SCHEMA_REGISTRY.get(schema)?.id}` });

/** A schema as JSON Schema: a reference for a named schema, otherwise written out. */
function jsonSchema(schema: z.ZodType): Json {
  if (SCHEMA_REGISTRY.has(schema)) return refTo(schema);
  return omitKeys(z.toJSONSchema(schema, JSON_SCHEMA_OPTIONS), '$schema');
}

const JSON_SCHEMA_OPTIONS = {
  io: 'input',
  override({ jsonSchema: json }: { jsonSchema: { format?: string; pattern?: string } }) {
    // The format says enough; the generated pattern is very long.
    if (json.format === 'date-time') delete json.pattern;
  },
} as const;

/** The named schemas of requests and responses as JSON Schema. */
export function componentSchemas(): Json {
  const { schemas } = z.toJSONSchema(SCHEMA_REGISTRY, {
    ...JSON_SCHEMA_OPTIONS,
    uri: (id) => `#/components/schemas/${id}`,
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, schema]) => [id, omitKeys(schema, '$schema', '$id')] as const),
  );
}

const omitKeys = (json: object, ...keys: readonly string[]): Json =>
  Object.fromEntries(Object.entries(json).filter(([key]) => !keys.includes(key)));
