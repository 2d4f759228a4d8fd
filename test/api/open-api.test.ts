import { describe, expect, it } from 'vitest';
import { createApi } from '../../lambda/api/app.ts';
import { ROUTES } from '../../lambda/api/routes/routes.ts';
import { apiScene } from './scene.ts';

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly { name: string; in: string; required: boolean; schema: object }[];
  readonly requestBody?: { content: Record<string, { schema: object }> };
  readonly responses: Record<string, { description: string; content?: Record<string, { schema?: object }> }>;
  readonly security: readonly object[];
}

interface Description {
  readonly openapi: string;
  readonly info: { title: string; version: string };
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { schemas: Record<string, object>; securitySchemes: object };
}

const description = async (): Promise<Description> =>
  (await apiScene().callApi('/api/openapi.json')).json as unknown as Description;

/** Every `$ref` in a value. */
function refsIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === '$ref' ? [String(inner)] : refsIn(inner)));
}

describe('the OpenAPI document', () => {
  it('conforms to OpenAPI 3.1, and every reference resolves', async () => {
    const { openapi, info, components, ...rest } = await description();
    expect(openapi).toMatch(/^3\.1\.\d$/);
    expect(info).toMatchObject({ title: 'Waitstate', version: expect.any(String) });
    const refs = refsIn({ components, ...rest });
    expect(refs.length).toBeGreaterThan(50);
    for (const ref of refs) {
      const [, name = ''] = /^#\/components\/schemas\/(\w+)$/.exec(ref) ?? [];
      expect([ref, Object.hasOwn(components.schemas, name)]).toEqual([ref, true]);
    }
    for (const [name, schema] of Object.entries(components.schemas)) {
      expect(name).toMatch(/^[A-Za-z]+$/);
      expect(Object.keys(schema)).not.toContain('$schema');
      expect(Object.keys(schema)).not.toContain('$id');
    }
  });

  it('has every operation once, with its parameters, body and responses', async () => {
    const { paths } = await description();
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
    );
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    for (const { path, method, parameters = [], requestBody, responses, summary, security } of operations) {
      const inPath = parameters.filter((parameter) => parameter.in === 'path');
      expect([path, inPath.map(({ name }) => name)]).toEqual([
        path,
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      ]);
      expect(inPath.every(({ required }) => required)).toBe(true);
      expect(requestBody === undefined).toBe(method === 'get');
      expect(summary.length).toBeGreaterThan(10);
      expect(security.length).toBe(path.startsWith('/approvals') ? 0 : 2);
      for (const [status, { description: text, content }] of Object.entries(responses)) {
        expect([path, status, text.length > 3]).toEqual([path, status, true]);
        if (Number(status) >= 400) expect(Object.keys(content ?? {})).toEqual(['application/problem+json']);
      }
      expect(Object.keys(responses).some((status) => Number(status) < 300)).toBe(true);
      for (const status of path.startsWith('/api') ? [400, 401, 403, 500, 503] : [400, 404, 500, 503])
        expect([path, Object.keys(responses)]).toEqual([path, expect.arrayContaining([String(status)])]);
    }
  });

  it('has exactly the routes of the application', async () => {
    const { paths } = await description();
    const { runtime } = apiScene();
    const app = createApi({ runtime, identify: () => undefined, telemetry: { log: () => {}, count: () => {} } });
    const registered = app.routes
      .filter(({ method, path }) => method !== 'ALL' && /^\/(api|approvals)\//.test(path) && !path.includes('assets'))
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect([...new Set(registered)].sort()).toEqual(described.sort());
    expect(described).toHaveLength(ROUTES.length);
  });
});
