import { beforeAll, describe, expect, test } from 'vitest';
import { toOpenApi } from '../../lambda/api/open-api.ts';
import { ROUTES } from '../../lambda/api/routes/routes.ts';
import { type Caller, ROLES, type Role } from '../../lambda/http/caller.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { counted } from '../runtime/storages.ts';
import { type OpenApi, operationsOf } from './open-api.ts';
import { type AttackScene, attacker, attackScene } from './scene.ts';

const operations = operationsOf(toOpenApi(ROUTES) as OpenApi);
const subsets: readonly (readonly Role[])[] = [[], ...ROLES.map((role) => [role]), ['viewer', 'approver']];
const parts: Readonly<Record<string, string>> = {
  run: 'own-asks',
  approval: 'book',
  person: 'user:ann',
  version: '1',
  payload: 'x',
  token: 'x',
};

describe('a caller without the required role', () => {
  const { storage, calls } = counted(memoryStorage());
  let scene: AttackScene;
  beforeAll(async () => {
    scene = await attackScene(storage);
  });

  test.each(operations)('is refused by $method $path before anything is read', async (operation) => {
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parts[name] ?? '');
    const request = (as: Caller | undefined) => scene.request({ method: operation.method, path, as });
    const before = { ...calls };
    const isForAll = operation.roles.length === 0;
    const denied = subsets.filter((roles) => !isForAll && !roles.some((role) => operation.roles.includes(role)));
    for (const roles of denied) expect(await request(attacker({ roles })), roles.join()).toMatchObject({ status: 403 });
    if (!isForAll) expect(await request(undefined)).toMatchObject({ status: 401 });
    expect(calls).toEqual(before);
    // Callers with the role are not refused.
    for (const roles of subsets.filter((each) => !denied.includes(each) && each.length > 0))
      expect((await request(attacker({ roles }))).status, roles.join()).not.toBe(401);
  });

  test('is refused whatever identity or role the request claims', async () => {
    const headers = [
      ...['x-tenant', 'x-user', 'x-roles', 'x-amzn-oidc-identity', 'x-forwarded-user', 'x-api-key'].map(
        (name) => [name, 'operator'] as const,
      ),
      [
        'authorization',
        `Bearer ${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{"tenant":"south","roles":["operator"]}').toString('base64url')}.`,
      ],
    ] as const;
    for (const path of ['/api/runs', '/api/me', '/api/runs/known-asks', '/console/runs', '/console'])
      expect(
        await scene.request({ method: 'GET', path: `${path}?tenant=south&role=operator`, headers, as: undefined }),
      ).toMatchObject({ status: 401 });
    const me = await scene.request({ method: 'GET', path: '/api/me', headers, as: attacker({ roles: ['viewer'] }) });
    expect(JSON.parse(me.text)).toMatchObject({ tenant: 'north', roles: ['viewer'] });
  });
});
