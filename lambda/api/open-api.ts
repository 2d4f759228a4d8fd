import * as z from 'zod';
import { omitUndefined } from '../core/omit-undefined.ts';
import type { ResponseDescription, Route } from './route.ts';
import { SCHEMA_REGISTRY } from './schemas/named.ts';
import { ProblemSchema } from './schemas/problems.ts';

type Json = Record<string, unknown>;

/** The description of routes in OpenAPI 3.1. https://spec.openapis.org/oas/v3.1.1 */
export function toOpenApi(routes: readonly Route[]): object {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    Object.assign(paths[route.path] ?? {}, { [route.method.toLowerCase()]: operationOf(route) });
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Waitstate',
      version: '1',
      description:
        'Runs of agents, their checkpoints and the approvals that they wait for. Ids in paths are percent-encoded; one with a slash, dots alone or another special character is ~ and its characters, in which ~ and two hex digits stand for all but letters, digits, - and _.',
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

function operationOf(route: Route): Json {
  const { name, summary, description, access: may, params, query, headers, body } = route;
  const parameters = [
    ...parametersOf('path', params),
    ...parametersOf('query', query),
    ...parametersOf('header', headers),
  ];
  const who = may === 'everyone' ? 'Whoever has the link.' : `Roles: ${may.join(', ')}.`;
  return {
    operationId: name,
    summary,
    description: [description, who].filter((text) => text !== undefined).join(' '),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: requestBodyOf(route, body) }),
    responses: responsesOf(route),
    security: may === 'everyone' ? [] : [{ jwt: [] }, { iam: [] }],
    'x-waitstate-roles': may === 'everyone' ? [] : may,
  };
}

function parametersOf(where: 'path' | 'query' | 'header', schema: z.ZodObject): readonly Json[] {
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

function requestBodyOf(
  { body }: Route,
  { schema, acceptsForms: forms = false, maxBytes: mostBytes }: NonNullable<Route['body']>,
): Json {
  const isNeeded = !body?.schema.safeParse({}).success;
  const content = { schema: jsonSchema(schema) };
  return {
    required: isNeeded,
    description: `At most ${mostBytes / 1024} KB`,
    content: {
      'application/json': content,
      ...(forms && { 'application/x-www-form-urlencoded': content }),
    },
  };
}

// What any route may answer with, by what it takes.
const ALWAYS = [400, 408, 413, 414, 500, 503, 507];
const OF_CALLERS = [401, 403];
const OF_BODIES = [415];

/** The statuses of the problems that a route may answer with. */
export const problemStatuses = ({
  access: may,
  body,
  problems,
}: Pick<Route, 'access' | 'body' | 'problems'>): readonly number[] =>
  [...new Set([...ALWAYS, ...(may === 'everyone' ? [] : OF_CALLERS), ...(body ? OF_BODIES : []), ...problems])].sort();

function responsesOf(route: Route): Json {
  const answers = Object.entries(route.responses).map(([status, answer]) => [status, answerOf(answer)]);
  const problem = { 'application/problem+json': { schema: refTo(ProblemSchema) } };
  const problems = problemStatuses(route).map((status) => [
    status,
    { description: MEANINGS[status] ?? '', content: problem },
  ]);
  return Object.fromEntries([...answers, ...problems]);
}

function answerOf({ description, schema, types = [], headers = {} }: ResponseDescription): Json {
  const content = {
    ...(schema && { 'application/json': { schema: jsonSchema(schema) } }),
    ...Object.fromEntries(types.map((type) => [type, {}])),
  };
  const described = Object.entries(headers).map(([name, text]) => [
    name,
    { description: text, schema: { type: 'string' } },
  ]);
  return {
    description,
    ...(Object.keys(content).length > 0 && { content }),
    ...(described.length > 0 && { headers: Object.fromEntries(described) }),
  };
}

const MEANINGS: Readonly<Record<number, string>> = {
  400: 'The request is not what this takes',
  401: 'Nobody says who calls',
  403: 'The caller may not do this',
  404: 'There is no such thing',
  408: 'The body did not come in time',
  409: 'Not in the status that it has, or another answer was given before',
  410: 'It is over: expired, withdrawn, deleted, pruned',
  412: 'Somebody else wrote first; `found` is what is there',
  413: 'It is too large',
  414: 'The URL is too long',
  415: 'The body is of a type that is not read here',
  428: 'It must say which version it goes on from',
  500: 'Something went wrong here',
  503: 'The storage did not answer; try again later',
  507: 'No space is left',
};

const refTo = (schema: z.ZodType): Json => ({ $ref: `#/components/schemas/${SCHEMA_REGISTRY.get(schema)?.id}` });

/** A schema as JSON; one with a name is referred to, and parts of one without are written out. */
function jsonSchema(schema: z.ZodType): Json {
  if (SCHEMA_REGISTRY.has(schema)) return refTo(schema);
  const { $schema: _, ...json } = z.toJSONSchema(schema, OPTIONS) as Json;
  return json;
}

const OPTIONS = {
  io: 'input',
  override({ jsonSchema: json }: { jsonSchema: { format?: string; pattern?: string } }) {
    // The format says it, and the pattern is longer than anybody reads.
    if (json.format === 'date-time') delete json.pattern;
  },
} as const;

function componentSchemas(): Json {
  const { schemas } = z.toJSONSchema(SCHEMA_REGISTRY, { ...OPTIONS, uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _, $id: __, ...json }]) => [id, json] as const),
  );
}
