import { describe, expect, it } from 'vitest';
import { readIamCallers, readJwtCallers } from '../../lambda/handlers/caller-maps.ts';
import { type AuthorizerOptions, identifyFromAuthorizer } from '../../lambda/http/authorizer-caller.ts';
import type { Caller } from '../../lambda/http/caller.ts';

const REQUEST = new Request('https://x.test/', {
  headers: { 'x-tenant': 'evil', authorization: 'Bearer evil', 'x-roles': 'operator' },
});

const identified = async (options: AuthorizerOptions, authorizer: unknown): Promise<Caller | undefined> =>
  identifyFromAuthorizer(options)(REQUEST, { requestContext: { authorizer } });

const JWT = { tenantClaim: 'tenant', rolesClaim: 'roles', personClaim: 'sub', groupsClaim: 'groups' };
const byClaims = (claims: object, jwt: object = JWT) =>
  identified({ jwt: jwt as typeof JWT }, { jwt: { claims, scopes: null } });

describe('a caller with a JWT', () => {
  it('is identified by its claims', async () => {
    expect(
      await byClaims({ tenant: 'acme', roles: '[viewer approver]', sub: 'ann', groups: '[finance group:desk]' }),
    ).toEqual({
      tenant: 'acme',
      person: 'user:ann',
      groups: ['group:finance', 'group:group:desk'],
      decidesForOthers: false,
      roles: new Set(['viewer', 'approver']),
    });
  });

  it.each([
    ['[viewer operator]', ['viewer', 'operator']],
    ['[viewer]', ['viewer']],
    ['[viewer, operator]', ['viewer', 'operator']],
    ['["viewer","operator"]', ['viewer', 'operator']],
    [
      ['viewer', 'operator', 7],
      ['viewer', 'operator'],
    ],
    ['operator', ['operator']],
    ['viewer operator', []],
    ['[]', []],
    ['', []],
    [undefined, []],
    [7, []],
    ['[admin constructor]', []],
    ['OPERATOR', []],
    ['[x,operator]', []],
    ['[x;operator viewer]', ['viewer']],
  ])('turns the roles claim %j into the roles %j', async (roles, expected) => {
    expect([...((await byClaims({ tenant: 't', roles }))?.roles ?? [])]).toEqual(expected);
  });

  it('can have its roles in a scope, or under mapped names', async () => {
    const scope = await byClaims({ tenant: 't', scope: 'openid viewer' }, { ...JWT, rolesClaim: 'scope' });
    expect([...(scope?.roles ?? [])]).toEqual(['viewer']);
    const names = { ...JWT, rolesClaim: 'cognito:groups', roles: { ops: ['operator', 'viewer'] } };
    const named = await byClaims({ tenant: 't', 'cognito:groups': '[ops operator toString]' }, names);
    expect([...(named?.roles ?? [])]).toEqual(['operator', 'viewer']);
  });

  it('does not act as a person if its email address is not verified', async () => {
    const byEmail = { ...JWT, personClaim: 'email' };
    const person = async (proof: object) =>
      (await byClaims({ tenant: 't', roles: '[approver]', email: 'boss@x.test', ...proof }, byEmail))?.person;
    for (const proof of [false, 'false', '', 'TRUE', null, 0])
      expect(await person({ email_verified: proof })).toBeUndefined();
    for (const proof of [{}, { email_verified: true }, { email_verified: 'true' }, { phone_number_verified: 'false' }])
      expect(await person(proof)).toBe('user:boss@x.test');
  });

  it('is rejected without a tenant or with several', async () => {
    for (const tenant of [undefined, '', '[]', '[a b]', ['a', 'b'], 7, null, '\ud800', 'x'.repeat(300)])
      expect(await byClaims({ tenant, roles: 'operator' })).toBeUndefined();
    const one = { tenant: 'default', rolesClaim: 'roles' };
    expect(await byClaims({ tenant: 'other', roles: 'viewer' }, one)).toMatchObject({ tenant: 'default' });
  });

  it('cannot pass for another person with a name that looks like a list or a group', async () => {
    for (const sub of ['[ann]', '["ann"]', '[]', ' [ann]', '[ann bob]', ['ann'], '', 7, null])
      expect(await byClaims({ tenant: 't', roles: 'viewer', sub })).not.toHaveProperty('person');
    for (const sub of ['a b', ' ann', 'ann]', 'a,b', 'group:x', 'user:user:ann'])
      expect(await byClaims({ tenant: 't', sub })).toMatchObject({ person: `user:${sub}` });
    const byScope = { ...JWT, personClaim: 'scope' };
    expect(await byClaims({ tenant: 't', scope: 'ann bob' }, byScope)).toMatchObject({ person: 'user:ann bob' });
    for (const tenant of ['[t]', '["t"]', ' [t]', ['t']])
      expect(await byClaims({ tenant, roles: 'viewer' })).toBeUndefined();
  });

  it('acts as a program if no claim names a person, and never as a group', async () => {
    expect(await byClaims({ tenant: 't', roles: 'viewer' })).not.toHaveProperty('person');
    expect(await byClaims({ tenant: 't', sub: 'group:finance' })).toMatchObject({ person: 'user:group:finance' });
    expect(await byClaims({ tenant: 't', sub: 'user:ann' })).toMatchObject({ person: 'user:user:ann' });
  });
});

describe('a caller with an IAM identity', () => {
  const iam = {
    'arn:aws:sts::111122223333:assumed-role/Ops/*': { tenant: 'default', roles: ['operator', 'viewer'] as const },
    'arn:aws:sts::111122223333:assumed-role/SSO_*/*': {
      tenant: 'default',
      roles: ['approver'] as const,
      personFromSession: true,
      groups: ['group:desk'],
    },
    'arn:aws:iam::111122223333:user/portal': { tenant: 'acme', roles: ['approver'] as const, decidesForOthers: true },
  };
  const byArn = (userArn: unknown) => identified({ iam }, { iam: { userArn, accountId: '111122223333' } });

  it('is identified by the first ARN pattern that matches', async () => {
    expect(await byArn('arn:aws:sts::111122223333:assumed-role/Ops/session-1')).toEqual({
      tenant: 'default',
      roles: new Set(['operator', 'viewer']),
      groups: [],
      decidesForOthers: false,
    });
    expect(await byArn('arn:aws:sts::111122223333:assumed-role/SSO_Approvers_12/ann@example.com')).toMatchObject({
      person: 'user:ann@example.com',
      groups: ['group:desk'],
    });
    expect(await byArn('arn:aws:iam::111122223333:user/portal')).toMatchObject({
      tenant: 'acme',
      decidesForOthers: true,
    });
  });

  it.each([
    'arn:aws:sts::111122223333:assumed-role/Ops',
    'arn:aws:sts::111122223333:assumed-role/Ops/a/b',
    'arn:aws:sts::111122223333:assumed-role/OpsX/session',
    'arn:aws:sts::999999999999:assumed-role/Ops/session',
    'xarn:aws:sts::111122223333:assumed-role/Ops/session',
    'arn:aws:iam::111122223333:user/portal2',
    'arn:aws:iam::111122223333:user/path/portal',
    'arn:aws:sts::111122223333:assumed-role/SSO_A/B/C',
    '',
    undefined,
    7,
  ])('is rejected if its ARN is %j', async (arn) => {
    expect(await byArn(arn)).toBeUndefined();
  });
});

describe('a caller without an authorizer', () => {
  it('is rejected, whatever the request itself contains', async () => {
    const all = { jwt: { tenant: 'default', rolesClaim: 'roles' }, iam: {} };
    for (const authorizer of [
      undefined,
      null,
      {},
      { jwt: {} },
      { jwt: { claims: null } },
      { iam: {} },
      { lambda: { tenant: 'x' } },
      'text',
    ])
      expect(await identified(all, authorizer)).toBeUndefined();
    for (const environment of [
      undefined,
      null,
      {},
      { event: { requestContext: { authorizer: { jwt: { claims: {} } } } } },
    ])
      expect(await identifyFromAuthorizer(all)(REQUEST, environment)).toBeUndefined();
    expect(await identified({}, { jwt: { claims: { roles: 'operator', tenant: 'x' } } })).toBeUndefined();
    expect(await identified({}, { iam: { userArn: 'arn:aws:iam::111122223333:root' } })).toBeUndefined();
  });
});

describe('the caller mapping in the environment', () => {
  it('is parsed, and rejected if it could identify nobody', () => {
    expect(readJwtCallers('{"tenant":"default","rolesClaim":"scope"}')).toEqual({
      tenant: 'default',
      rolesClaim: 'scope',
    });
    expect(readIamCallers('{"arn:aws:iam::1:user/a":{"tenant":"t","roles":["viewer"]}}')).toEqual({
      'arn:aws:iam::1:user/a': { tenant: 't', roles: ['viewer'] },
    });
    for (const text of [
      '{',
      '[]',
      '{}',
      '{"rolesClaim":"r"}',
      '{"rolesClaim":"r","tenant":"a","tenantClaim":"b"}',
      '{"tenant":"a"}',
      '{"tenant":"a","rolesClaim":"r","roles":{"x":["root"]}}',
      '{"tenant":"a","rolesClaim":"r","extra":1}',
    ])
      expect(() => readJwtCallers(text)).toThrow(/WAITSTATE_JWT_CALLERS must be .* Set it on the function/);
    for (const text of [
      '{',
      '[]',
      '{"*":{"tenant":"t","roles":[]}}',
      '{"arn:x":{"roles":["viewer"]}}',
      '{"arn:x":{"tenant":"t","roles":["root"]}}',
      '{"arn:x":{"tenant":"t","roles":[],"person":"group:x"}}',
    ])
      expect(() => readIamCallers(text)).toThrow(/WAITSTATE_IAM_CALLERS must be .* Set it on the function/);
  });
});
