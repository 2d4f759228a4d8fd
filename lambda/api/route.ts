import type { Context } from 'hono';
import * as z from 'zod';
import type { AppOptions } from '../http/app-options.ts';
import { type BodyOptions, readBody } from '../http/body.ts';
import type { Caller, Role } from '../http/caller.ts';
import { MAX_BODY_BYTES } from '../http/limits.ts';
import { decodePathId } from '../http/path-id.ts';
import { type FieldError, HttpError } from '../http/problem.ts';
import type { ApiEnv } from '../http/request-variables.ts';
import type { Operator } from '../operator/operator.ts';

/** The description of a response. */
export interface ResponseDescription {
  readonly description: string;
  /** The schema of the JSON body. @default no JSON body */
  readonly schema?: z.ZodType;
  /** Other media types of the response. */
  readonly types?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

type ObjectSchema = z.ZodObject;

/** A route: its access, request, responses and handler. The application and the OpenAPI document are built from it. */
export interface Route {
  readonly method: 'GET' | 'POST';
  /** The path, with parameters in braces. */
  readonly path: string;
  /** The roles that may call it, or `everyone` for routes whose path holds a secret token. */
  readonly access: readonly Role[] | 'everyone';
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly params: ObjectSchema;
  readonly query: ObjectSchema;
  readonly headers: ObjectSchema;
  readonly body?: RouteBody | undefined;
  readonly responses: Readonly<Record<number, ResponseDescription>>;
  /** Problem statuses of this route, in addition to those of every route. */
  readonly problems: readonly number[];
  readonly handle: (request: RouteRequest) => Promise<RouteResponse>;
}

interface RouteBody extends BodyOptions {
  readonly schema: ObjectSchema;
  /** How the OpenAPI document describes it, where one object has several forms. @default the schema */
  readonly described?: z.ZodType;
}

/** JSON with a status, or any other response. */
type RouteResponse = JsonResponse | Response;

interface JsonResponse {
  readonly status: 200 | 201;
  readonly json: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request with validated parameters. */
export interface RouteRequest<
  P extends ObjectSchema = ObjectSchema,
  Q extends ObjectSchema = ObjectSchema,
  H extends ObjectSchema = ObjectSchema,
  B extends ObjectSchema = ObjectSchema,
> {
  readonly params: z.infer<P>;
  readonly query: z.infer<Q>;
  readonly headers: z.infer<H>;
  /** Reads and validates the body. */
  body(): Promise<z.infer<B>>;
  /** Undefined at runtime on routes for `everyone`. */
  readonly caller: Caller;
  /** The operator of the caller's tenant; undefined at runtime on routes for `everyone`. */
  readonly operator: Operator;
  readonly api: AppOptions;
  readonly context: Context<ApiEnv>;
}

const EMPTY_SCHEMA = z.strictObject({});

type EmptySchema = typeof EMPTY_SCHEMA;

interface BodySpec<B extends ObjectSchema> extends Partial<BodyOptions> {
  readonly schema: B;
  readonly described?: z.ZodType;
}

interface RouteSpec<P extends ObjectSchema, Q extends ObjectSchema, H extends ObjectSchema, B extends ObjectSchema>
  extends Omit<Route, 'params' | 'query' | 'headers' | 'body' | 'problems' | 'handle'> {
  readonly params?: P;
  readonly query?: Q;
  readonly headers?: H;
  readonly body?: BodySpec<B>;
  readonly problems?: readonly number[];
  readonly handle: (request: RouteRequest<P, Q, H, B>) => Promise<RouteResponse>;
}

/** Defines a route; its handler gets the types that the schemas validate. */
export const route = <
  P extends ObjectSchema = EmptySchema,
  Q extends ObjectSchema = EmptySchema,
  H extends ObjectSchema = EmptySchema,
  B extends ObjectSchema = EmptySchema,
>(
  spec: RouteSpec<P, Q, H, B>,
): Route => ({
  ...spec,
  params: spec.params ?? EMPTY_SCHEMA,
  query: spec.query ?? EMPTY_SCHEMA,
  headers: spec.headers ?? EMPTY_SCHEMA,
  body: spec.body && { maxBytes: MAX_BODY_BYTES, ...spec.body },
  problems: spec.problems ?? [],
  // Safe: the schemas validate what the handler receives.
  handle: spec.handle as unknown as Route['handle'],
});

/** Validates a request against the schemas of its route; throws `INVALID_INPUT` otherwise. */
export function toRouteRequest(route: Route, api: AppOptions, context: Context<ApiEnv>): RouteRequest {
  const { body } = route;
  const url = new URL(context.req.url);
  return {
    params: validate('The path', route.params, parseParams(route.path, url.pathname)),
    query: validate('The query', route.query, parseQuery(route.query, url.searchParams)),
    headers: validate('The headers', route.headers, pickHeaders(route.headers, context.req.raw.headers)),
    body: async () =>
      validate('The body', body?.schema ?? EMPTY_SCHEMA, body ? await readBody(context.req.raw, body) : {}),
    caller: context.get('caller'),
    operator: context.get('operator'),
    api,
    context,
  };
}

/** The parameters of a path, from the raw URL: Hono decodes them, and encoded slashes would be lost. */
function parseParams(pattern: string, pathname: string): Readonly<Record<string, string>> {
  const parts = pathname.split('/');
  return Object.fromEntries(
    pattern.split('/').flatMap((part, i) => {
      const name = /^\{(.+)\}$/.exec(part)?.[1];
      if (name === undefined) return [];
      // An invalid token is looked up like any other, so that responses do not tell them apart.
      return [[name, name === 'token' ? (parts[i] ?? '') : decodePathId(parts[i] ?? '')]];
    }),
  );
}

/** A query with values converted to the types of its schema; a repeated parameter that is no list is rejected. */
function parseQuery(schema: ObjectSchema, given: URLSearchParams): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    [...new Set(given.keys())].map((name) => {
      const values = given.getAll(name);
      const type = Object.hasOwn(schema.shape, name) ? unwrapOptional(schema.shape[name]) : undefined;
      if (type instanceof z.ZodArray) return [name, values];
      const [text = '', ...more] = values;
      if (type !== undefined && more.length > 0)
        throw invalidRequest('The query', [{ path: excerpt(name), detail: 'must occur once' }]);
      if (type instanceof z.ZodNumber && /^-?\d{1,16}$/.test(text)) return [name, Number(text)];
      if (type instanceof z.ZodBoolean && /^(true|false)$/.test(text)) return [name, text === 'true'];
      return [name, text];
    }),
  );
}

function pickHeaders(schema: ObjectSchema, given: Headers): Readonly<Record<string, string>> {
  const headers = Object.keys(schema.shape).map((name) => [name, given.get(name)] as const);
  return Object.fromEntries(headers.flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}

const unwrapOptional = (schema: unknown): unknown =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? unwrapOptional(schema.unwrap()) : schema;

const MAX_FIELD_ERRORS = 20;

/** The value as the schema parses it; throws `INVALID_INPUT` that names each invalid field. */
export function validate<S extends z.ZodType>(what: string, schema: S, value: unknown): z.infer<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalidRequest(what, result.error.issues.slice(0, MAX_FIELD_ERRORS).flatMap(toFieldErrors));
}

const toFieldErrors = (issue: z.core.$ZodIssue): readonly FieldError[] => {
  const path = issue.path.map((step) => excerpt(String(step)));
  if (issue.code === 'unrecognized_keys')
    return issue.keys
      .slice(0, MAX_FIELD_ERRORS)
      .map((key) => ({ path: [...path, excerpt(key)].join('/'), detail: 'is unknown' }));
  return [{ path: path.join('/'), detail: issue.message }];
};

function invalidRequest(what: string, errors: readonly FieldError[]): HttpError {
  const summary = errors.map(({ path, detail }) => `${path === '' ? '' : `${path}: `}${detail}`).join('; ');
  return new HttpError(400, 'INVALID_INPUT', `${what} is invalid: ${summary}.`, { errors });
}

const excerpt = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
