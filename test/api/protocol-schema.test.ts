import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type JsonSchema, type Schemas, schemaErrors } from '../attack/json-schema.ts';
import { apiScene } from './scene.ts';

const FILE = 'docs/reference/protocol.schema.json';

/** The schema with no room for fields that it does not list. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const all = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return 'properties' in all && !('additionalProperties' in all) ? { ...all, additionalProperties: false } : all;
}

async function loadSchema() {
  const scene = apiScene();
  const { json } = await scene.callApi('/api/protocol.json');
  const definitions = (
    closed(JSON.parse(JSON.stringify(json).replaceAll('#/$defs/', '#/components/schemas/'))) as {
      $defs: Schemas;
    }
  ).$defs;
  return { scene, json, definitions };
}

describe('the schema of the protocol', () => {
  it('is the one in the package', async () => {
    const { json } = await loadSchema();
    expect(JSON.parse(readFileSync(FILE, 'utf8')), `Run "npm run surface" to update ${FILE}.`).toEqual(json);
  });

  it('lists every field of an invocation', async () => {
    const { scene, definitions } = await loadSchema();
    const check = (claimed: object) =>
      schemaErrors(definitions, definitions.Invocation as JsonSchema, JSON.parse(JSON.stringify(claimed)));
    const send = async (path: string, json: object, version?: number) =>
      (await scene.callApi(path, { json, ...(version !== undefined && { headers: { 'if-match': `"${version}"` } }) }))
        .json as { readonly [field: string]: unknown; readonly checkpoint: { readonly version: number } };
    const claim = (agent = 'quotes') => send('/api/claims', { agents: [agent], wait: { seconds: 0 } });
    await send('/api/runs', { agent: 'quotes', id: 'q', input: { at: { $: ['date', 0] } } });
    let claimed = await claim();
    expect(check(claimed)).toEqual([]);
    expect(check({ ...claimed, more: 1 })).not.toEqual([]);
    const saved = { state: 1, step: 's', toolResults: { a: 1 }, model: { id: 'm' }, name: 'n', labels: { l: 'x' } };
    const at = (path: string) => `/api/runs/q/${path}`;
    await send(at('checkpoints'), saved, 2);
    await send(
      at('approvals'),
      { approval: { name: 'buy', title: 'Buy?', approvers: ['user:ann'], editable: true } },
      3,
    );
    await send(at('approvals/buy/decide'), { answer: 'approve', comment: 'ok', edits: { n: 1 } });
    claimed = await claim();
    const question = {
      name: 'seat',
      title: 'Seat?',
      approvers: ['user:ann'],
      choices: ['a', { value: 'b', label: 'B' }],
    };
    await send(at('approvals'), { approval: question }, claimed.checkpoint.version);
    await send(at('approvals/seat/decide'), { value: 'b' });
    claimed = await claim();
    expect(claimed.approvals).toMatchObject([{ approved: true }, { answered: true, answer: 'b' }]);
    await send(at('waits'), { signal: 'go' }, claimed.checkpoint.version);
    await send(at('signals'), { name: 'go', value: 1 });
    claimed = await claim();
    await send(at('waits'), { signal: 'late', timeout: { seconds: 0 } }, claimed.checkpoint.version);
    await send(at('waits'), { sleep: 'nap', duration: { seconds: 0 } }, claimed.checkpoint.version + 1);
    for (const status of ['SUCCEEDED', 'FAILED']) {
      const { version } = ((await scene.callApi(at('load'))).json as typeof claimed).checkpoint;
      await send(at('waits'), { call: { agent: 'child' } }, version);
      const child = await claim('child');
      const end = status === 'FAILED' ? { error: { message: 'broken' } } : { result: 1 };
      await send(`/api/runs/${encodeURIComponent(String(child.run))}/finish`, { status, ...end }, 2);
      claimed = await claim();
    }
    expect(claimed).toMatchObject({
      ...{
        approvals: [{ approved: true }, { answered: true }],
        signals: [{ value: 1 }, { timedOut: true }],
        sleeps: [{ name: 'nap' }],
      },
      calls: [{ result: 1 }, { error: { message: 'broken' } }],
    });
    expect(check(claimed)).toEqual([]);
  });
});
