import { describe, expect, it } from 'vitest';
import {
  ENVIRONMENT,
  type EnvironmentName,
  HANDLERS,
  type HandlerName,
  VARIABLES_BY_HANDLER,
} from '../../lambda/environment/names.ts';
import { formatAgents, readAgents } from '../../lambda/handlers/agents.ts';
import { readEnvironment } from '../../lambda/handlers/read-environment.ts';
import { handler } from '../../lambda/handlers/resume.ts';
import { pages } from '../docs/markdown.ts';

const GOOD = { WAITSTATE_TABLE: 'runs', WAITSTATE_BUCKET: 'payloads' };

describe('the environment of handlers', () => {
  it('requires only a table and a bucket', () => {
    const unset = {
      acceptUnencrypted: false,
      key: undefined,
      approvalUrl: undefined,
      bus: undefined,
      topic: undefined,
      tenants: undefined,
    };
    const named = { table: 'runs', bucket: 'payloads', metricsNamespace: 'Waitstate' };
    expect(readEnvironment('sweep', GOOD)).toEqual({ ...named, ...unset, agents: new Map() });
    expect(readEnvironment('api', GOOD)).toMatchObject({ corsOrigins: [], retentionSeconds: undefined });
    expect(readEnvironment('gauge', { WAITSTATE_TABLE: 'runs' })).toEqual({
      table: 'runs',
      tenants: undefined,
      metricsNamespace: 'Waitstate',
    });
    expect(() => readEnvironment('resume', {})).toThrow(
      /WAITSTATE_TABLE must be the name of the DynamoDB table; found nothing/,
    );
    expect(() => readEnvironment('resume', { ...GOOD, WAITSTATE_BUCKET: ' ' })).toThrow(
      /WAITSTATE_BUCKET .* found an empty text/,
    );
  });

  it('is documented as the handlers read it', () => {
    const page = pages.find(({ path }) => path === 'docs/reference/lambda-handlers.md')?.text ?? '';
    const rows = [...page.matchAll(/^\| (`WAITSTATE_[^|]*) \| ([^|]*) \|/gm)];
    const documented = rows.flatMap(([, names = '', by = '']) => {
      const named = HANDLERS.filter((handler) => by.includes(`\`${handler}\``));
      const readers = by.startsWith('all') ? HANDLERS.filter((handler) => !named.includes(handler)) : named;
      const who = [...readers, ...(by.includes('agents') ? ['agent'] : [])].toSorted();
      return [...names.matchAll(/`(\w+)`/g)].map(([, name]) => [name, who]);
    });
    const read = Object.entries(ENVIRONMENT).map(([key, variable]) => {
      const who = Object.entries(VARIABLES_BY_HANDLER).filter(([, names]) => names.includes(key as EnvironmentName));
      return [variable, who.map(([name]) => name).toSorted()];
    });
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(read));
  });

  it('has no unused variable', () => {
    expect(new Set(Object.values(VARIABLES_BY_HANDLER).flat())).toEqual(new Set(Object.keys(ENVIRONMENT)));
  });

  it.each(HANDLERS)('is read by the handler %s under its listed names', (name) => {
    const read = readEnvironment(name, {
      ...Object.fromEntries(Object.values(ENVIRONMENT).map((variable) => [variable, 'https://x.test'])),
      WAITSTATE_AGENTS: '{"a":"b"}',
      WAITSTATE_TENANTS: '["a"]',
      WAITSTATE_RETENTION_SECONDS: '60',
      WAITSTATE_METRICS_NAMESPACE: 'Shop',
    });
    expect(Object.keys(read).toSorted()).toEqual(VARIABLES_BY_HANDLER[name].toSorted());
    expect(Object.values(read).filter((value) => value === undefined)).toEqual([]);
  });

  it('maps each agent to its function and to whether its runs are hydrated', () => {
    const agents = readAgents('{"refunds":"refunds-fn","quotes":{"function":"arn:aws:lambda:x","hydrate":true}}');
    expect(Object.fromEntries(agents)).toEqual({
      refunds: { function: 'refunds-fn', hydrate: false },
      quotes: { function: 'arn:aws:lambda:x', hydrate: true },
    });
  });

  it('formats agents so that they parse to the same value', () => {
    const agents = new Map([
      ['refunds', { function: 'refunds-fn', hydrate: false }],
      ['quotes', { function: 'arn:aws:lambda:x', hydrate: true }],
      ['acme "1"', { function: 'acme-fn', hydrate: false, tenants: ['acme'] }],
      ['__proto__', { function: 'both-fn', hydrate: true, tenants: ['acme', 'ü/1'] }],
    ]);
    expect([...readAgents(formatAgents(agents))]).toEqual([...agents]);
    expect(formatAgents(new Map([...agents].slice(0, 2)))).toBe(
      '{"refunds":"refunds-fn","quotes":{"function":"arn:aws:lambda:x","hydrate":true}}',
    );
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
  ])('refuses %j as agents and says what to set', (text) => {
    expect(() => readAgents(text)).toThrow(/WAITSTATE_AGENTS must be .* found .* Set it on the function/);
  });

  it.each<[HandlerName, EnvironmentName, string, unknown]>([
    ['api', 'retentionSeconds', ' 7776000 ', 7_776_000],
    ['api', 'corsOrigins', 'https://a.test, http://localhost:5173,', ['https://a.test', 'http://localhost:5173']],
    ['gauge', 'tenants', '["acme", "ü/1", "acme"]', ['acme', 'ü/1']],
    ['gauge', 'metricsNamespace', ' Shop/Waitstate 2', 'Shop/Waitstate 2'],
  ])('is parsed for the handler %s in the field %s', (name, key, text, value) => {
    expect(readEnvironment(name, { ...GOOD, [ENVIRONMENT[key]]: text })).toMatchObject({ [key]: value });
  });

  it.each<[HandlerName, EnvironmentName, readonly string[]]>([
    ['sweep', 'approvalUrl', ['approvals', 'javascript:alert(1)', '/approvals']],
    ['checkpoint', 'retentionSeconds', ['0', '-1', '1.5', '1e3', '90 days', '3162240001']],
    ['api', 'corsOrigins', ['*', 'null', 'portal.test', 'https://a.test/', 'https://A.test', 'ftp://a.test', '//a']],
    ['gauge', 'tenants', ['default', '[]', '{}', '[1]', '[""]', `["${'x'.repeat(300)}"]`]],
    ['gauge', 'metricsNamespace', ['AWS/Lambda', 'ümlaut', 'x'.repeat(256)]],
  ])('is refused for the handler %s if %s is invalid', (name, key, texts) => {
    for (const text of texts)
      expect(() => readEnvironment(name, { ...GOOD, [ENVIRONMENT[key]]: text })).toThrow(
        new RegExp(`${ENVIRONMENT[key]} must be .*; found .* Set it on the function`),
      );
  });

  it('is read at the first invocation, which fails with the name of the missing variable', async () => {
    await expect(handler({ Records: [] }, {})).rejects.toThrow(/WAITSTATE_TABLE/);
  });
});
