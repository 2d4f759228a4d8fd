import { createApi } from '../../lambda/api/app.ts';
import { withTenant } from '../../lambda/checkpoints/derived-contexts.ts';
import { type Caller, ROLES, type Role } from '../../lambda/http/caller.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import type { Operator } from '../../lambda/operator/operator.ts';
import type { AgentOptions } from '../../lambda/runtime/agent/agent-options.ts';
import type { Clock } from '../../lambda/runtime/clock.ts';
import type { Delivery } from '../../lambda/runtime/runtime.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { TestClock } from '../../lambda/testing.ts';
import type { OpenApi } from './open-api.ts';
import { type SeededRuns, seedRuns, trips } from './seed-runs.ts';

/** Part of every text of the attacked tenant, and of nothing that the attacker knows. */
export const MARK = 'zqxjkv';
export const VICTIM = 'south';
export const ATTACKER = 'north';

/** A request to the application. */
export interface AttackRequest {
  readonly method: string;
  /** The path as sent, query included. */
  readonly path: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string | Uint8Array | undefined;
  /** The caller; undefined if not authenticated. */
  readonly as?: Caller | undefined;
}

/** The response of the application. */
export interface AttackResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly text: string;
}

/** A text in the attacker's own runs that tries to inject markup into a page. */
export const markupText = (what: string): string => `our ${what}"><img src=x onerror=x()><script>x()</script>`;

/** The attacker: a caller with all roles in their own tenant. */
export const attacker = (
  fields: Partial<Omit<Caller, 'roles'>> & { readonly roles?: readonly Role[] } = {},
): Caller => ({
  tenant: ATTACKER,
  person: 'user:ann',
  groups: ['group:desk'],
  decidesForOthers: true,
  ...fields,
  roles: new Set(fields.roles ?? ROLES),
});

/** The application with two tenants that have runs of all kinds: one attacks, the other must stay unaffected. */
export async function attackScene(storage: Storage) {
  const clock = new TestClock(Date.parse('2026-05-01T10:00:00Z'));
  const logged: string[] = [];
  const queue: Delivery[] = [];
  const deliver = async (delivery: Delivery) => void queue.push(delivery);
  const agentOptions: AgentOptions = { storage, clock, deliver, log: () => {}, random: () => 0.5 };
  const running = trips.with(agentOptions);
  const { runtime } = running;
  let invocations = 0;
  // Requests that wait, such as claims, do so only in the time of the API, which nothing else uses.
  let waitedMs = 0;
  const apiClock: Clock = {
    now: () => clock.now() + waitedMs,
    sleep: async (milliseconds) => {
      waitedMs += milliseconds;
    },
  };
  const app = createApi({
    runtime: { ...runtime, clock: apiClock },
    identify: (_, environment) => (environment as { caller?: Caller }).caller,
    signedUrls: {
      put: async (_, id) => `https://bucket.test/put/${id}`,
      get: async (_, id) => `https://bucket.test/get/${id}`,
    },
    telemetry: {
      log: (level, message, fields) => void logged.push(JSON.stringify({ level, message, ...fields })),
      count: () => {},
    },
  });

  async function request({ method, path, headers = [], body, as }: AttackRequest): Promise<AttackResponse> {
    const init = { method, headers: headers.map(([name, value]): [string, string] => [name, value]) };
    const sent = body === undefined ? init : { ...init, body: body as string };
    const response = await app.request(`http://localhost${path}`, sent, { caller: as });
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { status: response.status, headers: response.headers, bytes, text: Buffer.from(bytes).toString() };
  }

  /** Runs every READY run until it suspends or ends. */
  async function settle(): Promise<void> {
    for (let next = queue.shift(); next; next = queue.shift())
      if (next.agent === trips.name)
        // The agent may fail on hostile inputs.
        await running
          .invoke(next, { by: `invocation ${++invocations}`, until: clock.now() + 900_000 })
          .catch(() => undefined);
  }

  const operator = (tenant: string): Operator =>
    createOperator({ ...runtime, contexts: withTenant(runtime.contexts, tenant) });
  const at = { agentOptions, operator, settle, clock };
  const own = await seedRuns(at, { tenant: ATTACKER, prefix: 'own', words: markupText });
  const kept = await seedRuns(at, { tenant: ATTACKER, prefix: 'kept-out-of-reach', words: (what) => `kept ${what}` });
  const theirs = await seedRuns(at, { tenant: VICTIM, prefix: 'known', words: (what) => `${MARK} ${what}` });
  const hidden = await seedRuns(at, { tenant: VICTIM, prefix: `${MARK}-run`, words: (what) => `${MARK} ${what}` });
  const described = await request({ method: 'GET', path: '/api/openapi.json', as: attacker() });
  return {
    app,
    request,
    settle,
    clock,
    apiClock,
    logged,
    runtime,
    storage,
    operator,
    own,
    theirs,
    openApi: JSON.parse(described.text) as OpenApi,
    /** All data that no attack may change: that of the other tenant, and the attacker's runs that no request names. */
    async untouched(): Promise<unknown> {
      const all: [SeededRuns, Operator][] = [
        [kept, operator(ATTACKER)],
        [theirs, operator(VICTIM)],
        [hidden, operator(VICTIM)],
      ];
      const runs = await Promise.all(all.map(async ([seeded, of]) => seeded.readAll(of)));
      return { runs, list: await operator(VICTIM).runs(), counts: await operator(VICTIM).counts() };
    },
  };
}

export type AttackScene = Awaited<ReturnType<typeof attackScene>>;
