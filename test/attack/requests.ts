import fc from 'fast-check';
import { encodePathId } from '../../lambda/http/path-id.ts';
import { HEADERS, type Header, headerOf, METHODS, MORE, QUERIES, TYPES } from './broken.ts';
import { hostileBody, hostilePathPart, hostileText, hostileValue } from './hostile.ts';
import type { OpenApi, Operation, Parameter } from './open-api.ts';
import { textOf } from './raw.ts';
import type { AttackRequest } from './scene.ts';
import { type KnownValues, recordsWith, SchemaValues } from './schema-values.ts';

type Request = Omit<AttackRequest, 'as'>;
type Values = Readonly<Record<string, unknown>>;

/** What an attacker builds requests from. */
export interface Arsenal {
  readonly openApi: OpenApi;
  /** Real ids, tokens, hashes and cursors: the attacker's own, and some of the other tenant. */
  readonly known: KnownValues;
  /** Sets of values that belong together, with which requests succeed. */
  readonly samples: readonly Readonly<Record<string, unknown>>[];
  /** Documents that refer to payloads of other runs. */
  readonly refs: readonly string[];
}

/** The parts of a request, each valid or not. */
interface Parts {
  readonly method: string;
  readonly path: Values;
  readonly query: Values;
  readonly headers: Values;
  readonly body: unknown;
}

const MAX_BODY_BYTES = 1024 * 1024;
const FORM = 'application/x-www-form-urlencoded';

/** Requests to one operation: valid ones, slightly wrong ones, and hostile ones. */
export function requestsTo(operation: Operation, { openApi, known, samples, refs }: Arsenal): fc.Arbitrary<Request> {
  const { schemas } = openApi.components;
  const plausible = fc.constantFrom(...samples).chain((sample) => {
    const only = Object.entries({ ...known, ...sample }).map(([name, value]) => [
      name,
      name in sample ? [value] : [value].flat(),
    ]);
    return createParts(
      operation,
      new SchemaValues(schemas, Object.fromEntries(only), { always: true }),
      Object.keys(sample),
    );
  });
  const parts = fc.oneof(plausible, createParts(operation, new SchemaValues(schemas, known)));
  const takesJson = operation.types.includes('application/json');
  const sent = parts.map((each) => toRequest(operation, each));
  const broken = (change: (request: Request) => fc.Arbitrary<Request>) => sent.chain(change);
  return fc.oneof(
    { arbitrary: sent, weight: 6 },
    { arbitrary: createForms(operation, parts), weight: !operation.types.includes(FORM) ? 0 : takesJson ? 3 : 30 },
    { arbitrary: fc.tuple(parts, hostileValue(refs), fc.nat()).map(changeOneValue(operation)), weight: 6 },
    { arbitrary: broken((request) => hostileBody(MAX_BODY_BYTES).map((body) => withBody(request, body))), weight: 2 },
    { arbitrary: broken((request) => fc.constantFrom(...TYPES).map((type) => withType(request, type))), weight: 1 },
    { arbitrary: fc.tuple(sent, hostilePathPart(), fc.nat()).map(changePath), weight: 3 },
    { arbitrary: broken((request) => fc.constantFrom(...QUERIES).map((more) => withQuery(request, more))), weight: 2 },
    { arbitrary: broken((request) => fc.constantFrom(...HEADERS).map((more) => withHeader(request, more))), weight: 2 },
    {
      arbitrary: broken((request) => fc.constantFrom(...METHODS).map((method) => withMethod(request, method))),
      weight: 1,
    },
  );
}

/** The parts of valid requests; parameters in `given` are present even if they are optional. */
function createParts(operation: Operation, fitting: SchemaValues, given: readonly string[] = []): fc.Arbitrary<Parts> {
  const valuesOf = (where: Parameter['in']): fc.Arbitrary<Values> => {
    const here = operation.parameters.filter((parameter) => parameter.in === where);
    const required = here.filter(({ name, required }) => required || given.includes(name)).map(({ name }) => name);
    return recordsWith(Object.fromEntries(here.map(({ name, schema }) => [name, fitting.of(schema, name)])), required);
  };
  return fc.record<Parts>({
    method: fc.constant(operation.method),
    path: valuesOf('path'),
    query: valuesOf('query'),
    headers: valuesOf('header'),
    body: operation.body ? fitting.object(operation.body, given) : fc.constant(undefined),
  });
}

function toRequest({ path: template }: Operation, { method, path, query, headers, body }: Parts): Request {
  const where = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => pathPart(String(path[name] ?? '')));
  const search = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((each) => `${encoded(name)}=${encoded(plain(each))}`),
  );
  const given = Object.entries(headers).flatMap(([name, value]) => headerOf(name, plain(value)));
  const request = { method, path: `${where}${search.length > 0 ? '?' : ''}${search.join('&')}`, headers: given };
  return body === undefined ? request : withBody(request, textOf(body));
}

/** An id in the application's own encoding, or percent-encoded, which it also accepts. */
const pathPart = (id: string): string =>
  id.length % 2 === 0 && id.isWellFormed() && id !== '' ? encodePathId(id) : encoded(id);

const encoded = (text: string): string => encodeURIComponent(text.toWellFormed());
const plain = (value: unknown): string => (typeof value === 'string' ? value : textOf(value));

const MAY_HAVE_BODY = /^(?!GET$|HEAD$)/;

function withBody(request: Request, body: string | Uint8Array): Request {
  if (!MAY_HAVE_BODY.test(request.method)) return request;
  return withType({ ...request, body }, 'application/json');
}

function withType(request: Request, type: string): Request {
  const others = request.headers?.filter(([name]) => name !== 'content-type') ?? [];
  return { ...request, headers: type === '' ? others : [...others, ['content-type', type]] };
}

/** Form submissions, some with hostile fields. */
const createForms = (operation: Operation, parts: fc.Arbitrary<Parts>): fc.Arbitrary<Request> =>
  fc
    .tuple(
      parts,
      hostileText(),
      fc.constantFrom('', '', '', 'answer=approve', 'a=%', '&&&', '=', '%00=%ff', 'edits={', '__proto__=1'),
    )
    .map(([each, text, more]) => {
      const fields = Object.entries(Object(each.body)).map(
        ([name, value]) => `${encoded(name)}=${encoded(plain(value))}`,
      );
      const body = [...fields, ...(more === '' ? [] : [more, `comment=${encoded(text)}`])].join('&');
      const request = toRequest(operation, { ...each, body: undefined });
      return withType(withHeader({ ...request, body }, ['accept', 'text/html']), FORM);
    });

/** Replaces, removes or adds one value in any part of a request. */
function changeOneValue(operation: Operation) {
  return ([parts, value, choice]: [Parts, unknown, number]): Request => {
    const targets = (['path', 'query', 'headers'] as const).filter((part) => Object.keys(parts[part]).length > 0);
    const target = operation.body && choice % 4 !== 0 ? 'body' : targets[choice % Math.max(1, targets.length)];
    if (target === undefined) return toRequest(operation, parts);
    return toRequest(operation, { ...parts, [target]: changeInside(parts[target], value, choice) });
  };
}

/** A value with one change somewhere in it. */
function changeInside(value: unknown, to: unknown, choice: number): unknown {
  const entries = Object.entries(Object(value));
  if (typeof value !== 'object' || value === null || (entries.length === 0 && choice % 3 !== 0)) return to;
  const kind = choice % 5;
  const next = Math.floor(choice / 5);
  const [key, inner] = entries[next % Math.max(1, entries.length)] ?? ['', null];
  const fields = entries.filter(([name]) => name !== key);
  if (kind === 0) return Object.fromEntries([...entries, [MORE[next % MORE.length] ?? '', to]]);
  if (kind === 1) return Object.fromEntries(fields);
  if (kind === 2) return Object.fromEntries([...fields, [key, changeInside(inner, to, next)]]);
  return Object.fromEntries([...fields, [key, to]]);
}

function changePath([request, part, choice]: [Request, string, number]): Request {
  const [pathname = '', search] = request.path.split('?');
  const parts = pathname.split('/');
  const at = 1 + (choice % Math.max(1, parts.length - 1));
  // Mostly replaces a segment, because longer or shorter paths match no route.
  const made =
    choice % 5 === 0 ? parts.toSpliced(at, 0, part) : choice % 7 === 0 ? [...parts, part] : parts.with(at, part);
  return { ...request, path: `${made.join('/')}${search === undefined ? '' : `?${search}`}` };
}

const withQuery = (request: Request, more: string): Request => ({
  ...request,
  path: `${request.path}${request.path.includes('?') ? '&' : '?'}${more}`,
});

/** Adds a header; an existing one is then sent twice. */
const withHeader = (request: Request, header: Header): Request => ({
  ...request,
  headers: [...(request.headers ?? []), header],
});

function withMethod({ body, ...request }: Request, method: string): Request {
  return { ...request, method, ...(MAY_HAVE_BODY.test(method.toUpperCase()) && { body }) };
}
