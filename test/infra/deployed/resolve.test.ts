import { describe, expect, it } from 'vitest';
import { allOf, resolveTemplate } from './resolve.ts';

const target = { name: 'stack', region: 'eu-central-1', accountId: '111122223333' };

const propertiesOf = (Properties: Readonly<Record<string, unknown>>) =>
  resolveTemplate(
    { Resources: { Table: { Type: 'AWS::DynamoDB::Table' }, Mine: { Type: 'AWS::Lambda::Function', Properties } } },
    target,
  ).resources[1]?.properties;

describe('a resolved template', () => {
  it('has names and ARNs in place of references', () => {
    const resolved = propertiesOf({
      ref: { Ref: 'Table' },
      arn: { 'Fn::GetAtt': ['Table', 'Arn'] },
      joined: { 'Fn::Join': ['', ['{"a":"', { Ref: 'AWS::AccountId' }, '"}']] },
      substituted: { 'Fn::Sub': `assets-\${AWS::AccountId}-\${AWS::Region}` },
      list: [{ Condition: { StringEquals: { key: { Ref: 'AWS::Region' } } } }],
    });
    expect(resolved).toEqual({
      ref: expect.stringMatching(/^stack-Table-\w{8}$/),
      arn: expect.stringMatching(/^arn:aws:dynamodb:eu-central-1:111122223333:table\/stack-Table-\w{8}$/),
      joined: '{"a":"111122223333"}',
      substituted: 'assets-111122223333-eu-central-1',
      list: [{ Condition: { StringEquals: { key: 'eu-central-1' } } }],
    });
  });

  it('is refused if it uses features that are not implemented', () => {
    expect(() => propertiesOf({ value: { 'Fn::ImportValue': 'x' } })).toThrow('Fn::ImportValue');
    expect(() => propertiesOf({ value: { Ref: 'Nothing' } })).toThrow('Nothing');
    expect(() => propertiesOf({ value: { 'Fn::GetAtt': ['Table', 'Colour'] } })).toThrow('Colour');
  });

  it('has unique names within the length limits', () => {
    const ids = ['A', 'B'].map((end) => 'Function'.repeat(20) + end);
    const Resources = Object.fromEntries(ids.map((id) => [id, { Type: 'AWS::Lambda::Function' }]));
    const names = allOf(resolveTemplate({ Resources }, target), 'AWS::Lambda::Function').map(({ ref }) => ref);
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name.length).toBeLessThanOrEqual(64);
  });
});
