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

/** What is described of an answer. */
export interface ResponseDescription {
  readonly description: string;
  /** Of JSON. @default the answer has no JSON */
  readonly schema?: z.ZodType;
  /** Other types that it may be of. */
  readonly types?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

type Shape = z.ZodObject;

/** One route: who may, what it takes, what it answers, and what it does. The application and its description come from it. */
export interface Route {
  readonly method: 'GET' | 'POST';
  /** With parameters in braces. */
  readonly path: string;
  /** Who may: whoever has one of the roles, or whoever has the link. */
  readonly access: readonly Role[] | 'everyone';
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly params: Shape;
  readonly query: Shape;
  readonly headers: Shape;
  readonly body?: RouteBody | undefined;
  readonly responses: Readonly<Record<number, ResponseDescription>>;
  /** The statuses of problems that it may answer with beside those that every route has. */
  readonly problems: readonly number[];
  readonly handle: (request: RouteRequest) => Promise<Answer>;
}

interface RouteBody extends BodyOptions {
  readonly schema: Shape;
}

/** JSON with a status, or a response of another kind. */
type Answer = JsonAnswer | Response;

interface JsonAnswer {
  readonly status: 200 | 201;
  readonly json: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request whose parameters were checked. */
export interface RouteRequest<
  P extends Shape = Shape,
  Q extends Shape = Shape,
  H extends Shape = Shape,
  B extends Shape = Shape,
> {
  readonly params: z.infer<P>;
  readonly query: z.infer<Q>;
  readonly headers: z.infer<H>;
  /** Reads and checks the body. */
  body(): Promise<z.infer<B>>;
  /** Nobody where everybody may. */
  readonly caller: Caller;
  /** That of the caller's tenant. */
  readonly operator: Operator;
  readonly api: AppOptions;
  readonly context: Context<ApiEnv>;
}

const NOTHING = z.strictObject({});

type Nothing = typeof NOTHING;

interface BodySpec<B extends Shape> extends Partial<BodyOptions> {
  readonly schema: B;
}

interface RouteSpec<P extends Shape, Q extends Shape, H extends Shape, B extends Shape>
  extends Omit<Route, 'params' | 'query' | 'headers' | 'body' | 'problems' | 'handle'> {
  readonly params?: P;
  readonly query?: Q;
  readonly headers?: H;
  readonly body?: BodySpec<B>;
  readonly problems?: readonly number[];
  readonly handle: (request: RouteRequest<P, Q, H, B>) => Promise<Answer>;
}

/** A route of the table, whose function knows the types of what its schemas let through. */
export const route = <
  P extends Shape = Nothing,
  Q extends Shape = Nothing,
  H extends Shape = Nothing,
  B extends Shape = Nothing,
>(
  spec: RouteSpec<P, Q, H, B>,
): Route => ({
  ...spec,
  params: spec.params ?? NOTHING,
  query: spec.query ?? NOTHING,
  headers: spec.headers ?? NOTHING,
  body: spec.body && { maxBytes: MAX_BODY_BYTES, ...spec.body },
  problems: spec.problems ?? [],
  // What the schemas let through is of their types.
  handle: spec.handle as unknown as Route['handle'],
});

/** The checked request of a route; refuses what its schemas do not describe. */
export function toRouteRequest(route: Route, api: AppOptions, context: Context<ApiEnv>): RouteRequest {
  const { body } = route;
  const url = new URL(context.req.url);
  return {
    params: validate('A path', route.params, paramsOf(route.path, url.pathname)),
    query: validate('A query', route.query, queryOf(route.query, url.searchParams)),
    headers: validate('The headers', route.headers, headersOf(route.headers, context.req.raw.headers)),
    body: async () => validate('A body', body?.schema ?? NOTHING, body ? await readBody(context.req.raw, body) : {}),
    caller: context.get('caller'),
    operator: context.get('operator'),
    api,
    context,
  };
}

/** The parameters in a path. They are read from the URL itself, which says what was encoded. */
function paramsOf(pattern: string, pathname: string): Readonly<Record<string, string>> {
  const parts = pathname.split('/');
  return Object.fromEntries(
    pattern.split('/').flatMap((part, i) => {
      const name = /^\{(.+)\}$/.exec(part)?.[1];
      if (name === undefined) return [];
      // What is no token is looked up like one: nobody learns the difference.
      return [[name, name === 'token' ? (parts[i] ?? '') : decodePathId(parts[i] ?? '')]];
    }),
  );
}

/** A query as the types that its schema has; what may not occur twice is refused when it does. */
function queryOf(schema: Shape, given: URLSearchParams): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    [...new Set(given.keys())].map((name) => {
      const values = given.getAll(name);
      const type = Object.hasOwn(schema.shape, name) ? withoutOptional(schema.shape[name]) : undefined;
      if (type instanceof z.ZodArray) return [name, values];
      const [text = '', ...more] = values;
      if (type !== undefined && more.length > 0)
        throw faulty('A query', [{ path: cut(name), detail: 'may be given once' }]);
      if (type instanceof z.ZodNumber && /^-?\d{1,16}$/.test(text)) return [name, Number(text)];
      if (type instanceof z.ZodBoolean && /^(true|false)$/.test(text)) return [name, text === 'true'];
      return [name, text];
    }),
  );
}

function headersOf(schema: Shape, given: Headers): Readonly<Record<string, string>> {
  const headers = Object.keys(schema.shape).map((name) => [name, given.get(name)] as const);
  return Object.fromEntries(headers.flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}

const withoutOptional = (schema: unknown): unknown =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? withoutOptional(schema.unwrap()) : schema;

const MOST_FAULTS = 20;

/** A value that a schema describes; refuses any other, and says by name what is wrong. */
export function validate<S extends z.ZodType>(what: string, schema: S, value: unknown): z.infer<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw faulty(what, result.error.issues.slice(0, MOST_FAULTS).flatMap(faultsIn));
}

const faultsIn = (issue: z.core.$ZodIssue): readonly FieldError[] => {
  const path = issue.path.map((step) => cut(String(step)));
  if (issue.code === 'unrecognized_keys')
    return issue.keys
      .slice(0, MOST_FAULTS)
      .map((key) => ({ path: [...path, cut(key)].join('/'), detail: 'is not known here' }));
  return [{ path: path.join('/'), detail: issue.message }];
};

function faulty(what: string, errors: readonly FieldError[]): HttpError {
  const said = errors.map(({ path, detail }) => `${path === '' ? '' : `${path}: `}${detail}`).join('; ');
  return new HttpError(400, 'INVALID_INPUT', `${what} is not what this takes: ${said}.`, { errors });
}

const cut = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
