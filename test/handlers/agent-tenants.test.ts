import { describe, expect, it } from 'vitest';
import { formatAgents, readAgents } from '../../lambda/handlers/agents.ts';
import type { Caller } from '../../lambda/http/caller.ts';
import { handlerScene, httpEvent } from './scene.ts';

const AGENTS = {
  quotes: { function: 'quotes-fn', hydrate: true, tenants: ['acme'] },
  refunds: { function: 'refunds-fn', hydrate: false, tenants: ['acme', 'globex'] },
};

const sceneOf = (tenant: string) => {
  const caller: Caller = { tenant, roles: new Set(['operator']), groups: [], decidesForOthers: false };
  return handlerScene({ agents: AGENTS, identify: () => caller });
};

describe('an agent that is restricted to tenants', () => {
  it('is read from the environment, with and without hydrate', () => {
    const text = JSON.stringify({ ...AGENTS, any: 'any-fn' });
    expect(Object.fromEntries(readAgents(text))).toEqual({ ...AGENTS, any: { function: 'any-fn', hydrate: false } });
    expect(readAgents(formatAgents(readAgents(text)))).toEqual(readAgents(text));
    for (const tenants of [[], ['acme', ''], 'acme', [1], null])
      expect(() => readAgents(JSON.stringify({ quotes: { function: 'quotes-fn', tenants } }))).toThrow(
        /WAITSTATE_AGENTS must be .*"tenants": \["acme"\]/,
      );
  });

  it.each(['quotes', 'refunds'])(
    'receives no run of another tenant, from the stream or from a sweep, if it is %s',
    async (agent) => {
      const scene = await handlerScene({ agents: AGENTS });
      for (const tenant of ['acme', 'initech'])
        await scene.checkpoint({ waitstate: 1, action: 'start', tenant, run: 'r', agent, input: { of: tenant } });
      expect(await scene.resume({ Records: await scene.nextRecords() })).toEqual({ batchItemFailures: [] });
      expect(scene.sent.invocations.map(({ event }) => event.tenant)).toEqual(['acme']);
      expect(scene.counts.get('UnknownAgent')).toBe(1);
      scene.sent.invocations.length = 0;
      scene.clock.moveTo(scene.clock.now() + 61_000);
      await scene.sweep();
      expect(scene.sent.invocations.filter(({ event }) => event.tenant !== 'acme')).toEqual([]);
      expect(scene.counts.get('UnknownAgent')).toBe(2);
    },
  );

  it('receives no links of another tenant, whose notifications go only to the bus', async () => {
    const scene = await handlerScene({ agents: AGENTS });
    const approval = { name: 'buy', title: 'Buy?', approvers: ['user:ann'], remindAfter: { hours: 1 } };
    for (const tenant of ['acme', 'initech']) {
      const at = { waitstate: 1, tenant, run: 'r' };
      await scene.checkpoint({ ...at, action: 'save', expectedVersion: 0, agent: 'quotes', state: 1 });
      const requested = await scene.checkpoint({ ...at, action: 'requestApproval', expectedVersion: 1, approval });
      expect(requested).toMatchObject({ ok: true });
    }
    const notifiedTenants = () => scene.sent.invocations.map(({ event }) => event.tenant);
    await scene.notify({ Records: await scene.nextRecords() });
    expect(notifiedTenants()).toEqual(['acme']);
    expect(scene.sent.events.map(({ detail }) => detail.tenant).toSorted()).toEqual(['acme', 'initech']);
    scene.clock.moveTo(scene.clock.now() + 3_600_000);
    expect(await scene.sweep()).toMatchObject({ failed: 0 });
    expect(notifiedTenants()).toEqual(['acme', 'acme']);
  });

  it('is neither offered to another tenant in the API nor started by it', async () => {
    const start = (agent: string) => httpEvent('POST', '/api/runs', { body: JSON.stringify({ agent, id: 'r' }) });
    const globex = await sceneOf('globex');
    const refused = await globex.api(start('quotes'));
    expect([refused.statusCode, JSON.parse(refused.body).code]).toEqual([404, 'AGENT_NOT_FOUND']);
    expect((await globex.api(start('refunds'))).statusCode).toBe(201);
    expect(JSON.parse((await globex.api(httpEvent('GET', '/api/agents'))).body)).toEqual({
      agents: [{ name: 'refunds' }],
    });
    // A tenant without agents is refused; only a deployment without any agents accepts every name.
    expect((await (await sceneOf('initech')).api(start('quotes'))).statusCode).toBe(404);
  });
});
