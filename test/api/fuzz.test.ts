import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pathId } from '../../lambda/api/path-id.ts';
import { apiScene, caller } from './scene.ts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | false;
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly format?: string;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { name: string; in: string; required: boolean; schema: Schema }[];
  readonly requestBody?: { content: { 'application/json': { schema: Schema } } };
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const { json: described } = await apiScene().ask('/api/openapi.json');
const { paths, components } = described as unknown as Description;

// What breaks things: prototypes, paths, markup, formats, bounds, half characters, and `$` nodes that are none.
const HOSTILE: readonly unknown[] = [
  ...[
    '',
    ' ',
    '\u0000',
    '../../etc/passwd',
    '%2e%2e%2f',
    '~',
    '<script>alert(1)</script>',
    "' OR 1=1 --",
    '{{7*7}}',
    '\r\nx-evil: 1',
  ],
  ...[
    '__proto__',
    'constructor',
    'x'.repeat(3000),
    '\ud800',
    '😀'.repeat(90),
    '\u202e',
    'group:',
    'group:x',
    'user:ann',
    '@input',
    'latest',
    'name:x',
    '/',
  ],
  ...[0, -1, 1, 1.5, 1e308, -0, 2 ** 53, 999_999_999_999, null, true, false, [], {}, [[[[]]]], { $: 'undefined' }],
  ...[
    { $: ['date', 'x'] },
    { $: ['map', 1] },
    { $: ['cut', 'list', 1, []] },
    { $: ['payload', '../x', 'y', -1] },
    { $: ['regexp', '(', 'z'] },
    { $: ['bigint', '1e9'] },
    { $: ['again', 7] },
    { $: ['class', '__proto__', 1] },
    { $: { $: 1 } },
  ],
  JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
];
const hostile = fc.oneof(fc.constantFrom(...HOSTILE), fc.jsonValue({ maxDepth: 4 }));
const texts = fc.oneof(
  fc.constantFrom('trip', 'trips', 'book', 'user:ann', 'seat', '1', 'latest'),
  fc.string({ maxLength: 40, unit: 'binary' }),
);

/** Values that a schema describes, and now and then one that it does not. */
const anyOf = (schema: Schema, depth = 0): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 6, arbitrary: fittingValue(schema, depth) }, { weight: 1, arbitrary: hostile });

function fittingValue(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return anyOf(components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, depth + 1);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((each) => anyOf(each, depth + 1)));
  if (schema.type === 'integer' || schema.type === 'number')
    return fc.integer({ min: schema.minimum ?? 0, max: Math.min(schema.maximum ?? 9, 9_999) });
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.format === 'date-time') return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  if (schema.type === 'string') return texts;
  if (schema.type === 'array') return fc.array(anyOf(schema.items ?? {}, depth + 1), { maxLength: 3 });
  if (schema.type === 'object' && schema.properties) {
    const required = new Set(schema.required ?? []);
    const fields = Object.entries(schema.properties).map(([name, field]) =>
      fc.tuple(
        fc.constant(name),
        anyOf(field, depth + 1),
        required.has(name) ? fc.integer({ min: 0, max: 20 }).map((n) => n > 0) : fc.boolean(),
      ),
    );
    return fc
      .tuple(...fields)
      .map((given) => Object.fromEntries(given.flatMap(([name, value, isThere]) => (isThere ? [[name, value]] : []))));
  }
  if (schema.type === 'object')
    return fc.dictionary(texts, anyOf(schema.additionalProperties || {}, depth + 1), { maxKeys: 3 });
  return hostile;
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** A path segment that reaches the route: as it should be written, percent-encoded, or raw. */
const segment = (value: unknown, way: number): string => {
  const text = asText(value).toWellFormed() || 'x';
  if (way === 0) return pathId(text);
  return way === 1 ? encodeURIComponent(text) : text.replace(/[/\\?#\s]/g, '').slice(0, 200) || 'x';
};

const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

/** A request to an operation. */
const requests = (path: string, { parameters = [], requestBody }: Operation) =>
  fc
    .record({
      params: fc.tuple(
        ...parameters.map(({ schema, name }) =>
          fc.tuple(fc.constant(name), name === 'run' ? fc.oneof(fc.constant('trip'), anyOf(schema)) : anyOf(schema)),
        ),
      ),
      given: fc.array(fc.boolean(), { minLength: parameters.length, maxLength: parameters.length }),
      way: fc.integer({ min: 0, max: 2 }),
      body: requestBody ? anyOf(requestBody.content['application/json'].schema) : fc.constant(undefined),
      raw: fc.oneof(
        { weight: 9, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.string({ maxLength: 200 }) },
      ),
    })
    .map(({ params, given, way, body, raw }) => {
      const values = new Map(params);
      const query = new URLSearchParams();
      const headers: Record<string, string> = {};
      for (const [i, { name, in: where, required }] of parameters.entries()) {
        const value = values.get(name);
        if (where === 'path' || !(required || given[i])) continue;
        if (where === 'query')
          for (const each of Array.isArray(value) ? value : [value]) query.append(name, asText(each));
        else headers[name] = asText(value).replace(/[^\x20-\x7e]/g, '');
      }
      if ('if-match' in headers && way < 2) headers['if-match'] = `"${way}"`;
      const url = path.replace(/\{(\w+)\}/g, (_, name) => segment(values.get(name), way));
      const text = requestBody && (raw ?? (body === undefined ? undefined : JSON.stringify(body)));
      return { url: `${url}${query.size > 0 ? `?${query}` : ''}`, headers, body: text };
    });

describe('whatever is sent', () => {
  it.each(operations)(
    'to $method $path is answered as it is described, and never breaks anything',
    async ({ path, method, operation }) => {
      const scene = apiScene();
      const other = caller({ tenant: 'other' });
      await scene.ask('/api/runs', {
        json: { agent: 'trips', id: 'secret', input: { note: 'SECRET-OF-ANOTHER' } },
        as: other,
      });
      await scene.ask('/api/runs', { json: { agent: 'trips', id: 'trip' } });
      await scene.settle();
      const portal = caller({ answersForOthers: true });
      await fc.assert(
        fc.asyncProperty(requests(path, operation), async ({ url, headers, body }) => {
          const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
          const got = await scene.ask(url, {
            method,
            headers: { ...headers, ...type },
            as: portal,
            ...(body !== undefined && { body }),
          });
          expect([url, body, got.status < 500]).toEqual([url, body, true]);
          expect(got.text).not.toContain('SECRET');
          if (got.status >= 400) expect(got.headers.get('content-type')).toBe('application/problem+json');
        }),
        { numRuns: Number(process.env.FUZZ_RUNS ?? 150) },
      );
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
      expect((await scene.ask('/api/runs/secret', { as: other })).json.status).toBe('WAITING_FOR_APPROVAL');
    },
  );
});
