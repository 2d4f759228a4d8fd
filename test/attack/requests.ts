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

/** What an attacker has to build requests of. */
export interface Arsenal {
  readonly openApi: OpenApi;
  /** Real ids, tokens, hashes and cursors: their own, and those of the other tenant that they came to know. */
  readonly known: KnownValues;
  /** Such of them as belong together: whoever sends these is answered. */
  readonly samples: readonly Readonly<Record<string, unknown>>[];
  /** Documents that point at payloads of others. */
  readonly refs: readonly string[];
}

/** Parts of a request, each as it is meant to be or not. */
interface Parts {
  readonly method: string;
  readonly path: Values;
  readonly query: Values;
  readonly headers: Values;
  readonly body: unknown;
}

const MOST_BODY = 1024 * 1024;
const FORM = 'application/x-www-form-urlencoded';

/** Requests to one operation: such as it takes, such as are a little off, and such as nobody would send by accident. */
export function requestsTo(operation: Operation, { openApi, known, samples, refs }: Arsenal): fc.Arbitrary<Request> {
  const { schemas } = openApi.components;
  const plausible = fc.constantFrom(...samples).chain((sample) => {
    const only = Object.entries({ ...known, ...sample }).map(([name, value]) => [
      name,
      name in sample ? [value] : [value].flat(),
    ]);
    return partsOf(
      operation,
      new SchemaValues(schemas, Object.fromEntries(only), { always: true }),
      Object.keys(sample),
    );
  });
  const parts = fc.oneof(plausible, partsOf(operation, new SchemaValues(schemas, known)));
  const takesJson = operation.types.includes('application/json');
  const sent = parts.map((each) => requestOf(operation, each));
  const broken = (change: (request: Request) => fc.Arbitrary<Request>) => sent.chain(change);
  return fc.oneof(
    { arbitrary: sent, weight: 6 },
    { arbitrary: formsOf(operation, parts), weight: !operation.types.includes(FORM) ? 0 : takesJson ? 3 : 30 },
    { arbitrary: fc.tuple(parts, hostileValue(refs), fc.nat()).map(oneValueOff(operation)), weight: 6 },
    { arbitrary: broken((request) => hostileBody(MOST_BODY).map((body) => withBody(request, body))), weight: 2 },
    { arbitrary: broken((request) => fc.constantFrom(...TYPES).map((type) => ofType(request, type))), weight: 1 },
    { arbitrary: fc.tuple(sent, hostilePathPart(), fc.nat()).map(otherPath), weight: 3 },
    { arbitrary: broken((request) => fc.constantFrom(...QUERIES).map((more) => withQuery(request, more))), weight: 2 },
    { arbitrary: broken((request) => fc.constantFrom(...HEADERS).map((more) => withHeader(request, more))), weight: 2 },
    {
      arbitrary: broken((request) => fc.constantFrom(...METHODS).map((method) => byMethod(request, method))),
      weight: 1,
    },
  );
}

/** The parts of requests as they are described; `given` are there even where they are not required. */
function partsOf(operation: Operation, fitting: SchemaValues, given: readonly string[] = []): fc.Arbitrary<Parts> {
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

function requestOf({ path: template }: Operation, { method, path, query, headers, body }: Parts): Request {
  const where = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => pathPart(String(path[name] ?? '')));
  const search = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((each) => `${encoded(name)}=${encoded(plain(each))}`),
  );
  const given = Object.entries(headers).flatMap(([name, value]) => headerOf(name, plain(value)));
  const request = { method, path: `${where}${search.length > 0 ? '?' : ''}${search.join('&')}`, headers: given };
  return body === undefined ? request : withBody(request, textOf(body));
}

/** An id as the application itself writes it, or percent-encoded as it allows. */
const pathPart = (id: string): string =>
  id.length % 2 === 0 && id.isWellFormed() && id !== '' ? encodePathId(id) : encoded(id);

const encoded = (text: string): string => encodeURIComponent(text.toWellFormed());
const plain = (value: unknown): string => (typeof value === 'string' ? value : textOf(value));

const MAY_HAVE_BODY = /^(?!GET$|HEAD$)/;

function withBody(request: Request, body: string | Uint8Array): Request {
  if (!MAY_HAVE_BODY.test(request.method)) return request;
  return ofType({ ...request, body }, 'application/json');
}

function ofType(request: Request, type: string): Request {
  const others = request.headers?.filter(([name]) => name !== 'content-type') ?? [];
  return { ...request, headers: type === '' ? others : [...others, ['content-type', type]] };
}

/** Fields as a form of a browser sends them; of a browser that somebody else wrote. */
const formsOf = (operation: Operation, parts: fc.Arbitrary<Parts>): fc.Arbitrary<Request> =>
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
      const request = requestOf(operation, { ...each, body: undefined });
      return ofType(withHeader({ ...request, body }, ['accept', 'text/html']), FORM);
    });

/** One value in any place is another, is gone, or is there beside the others. */
function oneValueOff(operation: Operation) {
  return ([parts, value, choice]: [Parts, unknown, number]): Request => {
    const places = (['path', 'query', 'headers'] as const).filter((part) => Object.keys(parts[part]).length > 0);
    const place = operation.body && choice % 4 !== 0 ? 'body' : places[choice % Math.max(1, places.length)];
    if (place === undefined) return requestOf(operation, parts);
    return requestOf(operation, { ...parts, [place]: changed(parts[place], value, choice) });
  };
}

/** A value with one thing changed somewhere in it. */
function changed(value: unknown, to: unknown, choice: number): unknown {
  const entries = Object.entries(Object(value));
  if (typeof value !== 'object' || value === null || (entries.length === 0 && choice % 3 !== 0)) return to;
  const kind = choice % 5;
  const next = Math.floor(choice / 5);
  const [key, inner] = entries[next % Math.max(1, entries.length)] ?? ['', null];
  const fields = entries.filter(([name]) => name !== key);
  if (kind === 0) return Object.fromEntries([...entries, [MORE[next % MORE.length] ?? '', to]]);
  if (kind === 1) return Object.fromEntries(fields);
  if (kind === 2) return Object.fromEntries([...fields, [key, changed(inner, to, next)]]);
  return Object.fromEntries([...fields, [key, to]]);
}

function otherPath([request, part, choice]: [Request, string, number]): Request {
  const [pathname = '', search] = request.path.split('?');
  const parts = pathname.split('/');
  const at = 1 + (choice % Math.max(1, parts.length - 1));
  // Mostly in the place of another part: what is longer or shorter is found by nobody.
  const made =
    choice % 5 === 0 ? parts.toSpliced(at, 0, part) : choice % 7 === 0 ? [...parts, part] : parts.with(at, part);
  return { ...request, path: `${made.join('/')}${search === undefined ? '' : `?${search}`}` };
}

const withQuery = (request: Request, more: string): Request => ({
  ...request,
  path: `${request.path}${request.path.includes('?') ? '&' : '?'}${more}`,
});

/** One more header; one that is there already is then there twice. */
const withHeader = (request: Request, header: Header): Request => ({
  ...request,
  headers: [...(request.headers ?? []), header],
});

function byMethod({ body, ...request }: Request, method: string): Request {
  return { ...request, method, ...(MAY_HAVE_BODY.test(method.toUpperCase()) && { body }) };
}
