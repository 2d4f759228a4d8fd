import { describe, expect, it } from 'vitest';
import { allowedBy, type Statement } from './policy.ts';

const TABLE = 'arn:aws:dynamodb:us-east-1:111122223333:table/runs';

const statement = (more: Partial<Statement> = {}): Statement => ({
  Effect: 'Allow',
  Action: ['dynamodb:GetItem', 'dynamodb:Query'],
  Resource: [TABLE, `${TABLE}/index/due`],
  ...more,
});

const isAllowed = (
  of: Statement,
  action: string,
  resource: string,
  context?: Readonly<Record<string, readonly string[]>>,
) => allowedBy([of], { action, resource, ...(context && { context }) }).length > 0;

describe('the policies of the simulated account', () => {
  it('allow exactly the listed actions on the listed resources', () => {
    expect(isAllowed(statement(), 'dynamodb:GetItem', TABLE)).toBe(true);
    expect(isAllowed(statement(), 'dynamodb:getitem', TABLE)).toBe(true);
    expect(isAllowed(statement(), 'dynamodb:PutItem', TABLE)).toBe(false);
    expect(isAllowed(statement(), 'dynamodb:GetItem', `${TABLE}2`)).toBe(false);
    expect(isAllowed(statement(), 'dynamodb:Query', `${TABLE}/index/status`)).toBe(false);
    expect(allowedBy([], { action: 'dynamodb:GetItem', resource: TABLE })).toEqual([]);
  });

  it('treat only * and ? as wildcards', () => {
    const object = (key: string) =>
      isAllowed(statement({ Action: 's3:*', Resource: 'arn:aws:s3:::b.c/acme/*' }), 's3:GetObject', key);
    expect(object('arn:aws:s3:::b.c/acme/run/1')).toBe(true);
    expect(object('arn:aws:s3:::bxc/acme/run/1')).toBe(false);
    expect(object('arn:aws:s3:::b.c/acme2/run/1')).toBe(false);
  });

  it('enforce leading keys and deny a request without keys', () => {
    const kept = statement({
      Condition: {
        'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['acme/*', '@token/*'] },
        Null: { 'dynamodb:LeadingKeys': 'false' },
      },
    });
    const reads = (...keys: string[]) => isAllowed(kept, 'dynamodb:GetItem', TABLE, { 'dynamodb:LeadingKeys': keys });
    expect([reads('acme/1'), reads('acme/1', '@token/x')]).toEqual([true, true]);
    expect([reads('globex/1'), reads('acme/1', 'globex/1'), reads('acmes/1')]).toEqual([false, false, false]);
    expect(isAllowed(kept, 'dynamodb:GetItem', TABLE)).toBe(false);
  });

  it('match one of the expected values and deny a missing one', () => {
    const tenant = statement({ Condition: { StringEquals: { 'kms:EncryptionContext:tenant': ['acme', 'globex'] } } });
    const by = (context?: Readonly<Record<string, readonly string[]>>) =>
      isAllowed(tenant, 'dynamodb:GetItem', TABLE, context);
    expect(by({ 'kms:EncryptionContext:tenant': ['globex'] })).toBe(true);
    expect(by({ 'kms:EncryptionContext:tenant': ['acme*'] })).toBe(false);
    expect(by()).toBe(false);
  });

  it('are refused if they use features that are not implemented', () => {
    const odd = statement({ Condition: { DateLessThan: { 'aws:CurrentTime': '2026-01-01' } } });
    expect(() => isAllowed(odd, 'dynamodb:GetItem', TABLE)).toThrow('DateLessThan');
    expect(() => isAllowed(statement({ Effect: 'Deny' }), 'dynamodb:GetItem', TABLE)).toThrow('Deny');
    const not = { ...statement(), NotAction: 'dynamodb:*' };
    expect(() => isAllowed(not, 'dynamodb:GetItem', TABLE)).toThrow('NotAction');
  });
});
