import { describe, expect, it } from 'vitest';
import { ENVIRONMENT, readAgents, readEnvironment } from '../../lambda/handlers/environment.ts';
import { handler } from '../../lambda/handlers/resume.ts';

const GOOD = { HOLDPOINT_TABLE: 'runs', HOLDPOINT_BUCKET: 'payloads' };

describe('the environment of handlers', () => {
  it('needs a table and a bucket, and nothing else', () => {
    expect(readEnvironment(GOOD)).toEqual({
      ...{
        table: 'runs',
        bucket: 'payloads',
        key: undefined,
        approvalUrl: undefined,
        bus: undefined,
        topic: undefined,
      },
      agents: new Map(),
    });
    expect(() => readEnvironment({})).toThrow(/HOLDPOINT_TABLE must be the name of the DynamoDB table; found nothing/);
    expect(() => readEnvironment({ ...GOOD, HOLDPOINT_BUCKET: ' ' })).toThrow(
      /HOLDPOINT_BUCKET .* found an empty text/,
    );
  });

  it('is read by the names that are listed', () => {
    const all = Object.fromEntries(Object.values(ENVIRONMENT).map((name) => [name, 'https://x.test']));
    const read = readEnvironment({ ...all, HOLDPOINT_AGENTS: '{"a":"b"}' });
    expect(Object.keys(read).sort()).toEqual(Object.keys(ENVIRONMENT).sort());
    expect(Object.values(read).filter((value) => value === undefined)).toEqual([]);
  });

  it('names the function of each agent, and whether it gets its runs loaded', () => {
    const agents = readAgents('{"refunds":"refunds-fn","quotes":{"function":"arn:aws:lambda:x","hydrate":true}}');
    expect(Object.fromEntries(agents)).toEqual({
      refunds: { function: 'refunds-fn', hydrate: false },
      quotes: { function: 'arn:aws:lambda:x', hydrate: true },
    });
  });

  it.each([
    '',
    '[]',
    'null',
    '{',
    '{"a":1}',
    '{"a":""}',
    '{"":"b"}',
    '{"a":{"function":"b","hydrated":true}}',
    '{"a":{"hydrate":true}}',
    '{"a":{"function":"b","hydrate":"yes"}}',
  ])('refuses %s as agents, and says what to set', (text) => {
    expect(() => readAgents(text)).toThrow(/HOLDPOINT_AGENTS must be .* found .* Set it on the function/);
  });

  it('refuses an approval URL that is none', () => {
    for (const HOLDPOINT_APPROVAL_URL of ['approvals', 'javascript:alert(1)', '/approvals'])
      expect(() => readEnvironment({ ...GOOD, HOLDPOINT_APPROVAL_URL })).toThrow(/HOLDPOINT_APPROVAL_URL/);
  });

  it('is read by the first call of a handler, and says then what is missing', async () => {
    await expect(handler({ Records: [] }, {})).rejects.toThrow(/HOLDPOINT_TABLE/);
  });
});
