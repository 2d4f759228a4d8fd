import { createApi } from '../../lambda/api/app.ts';
import { withTenant } from '../../lambda/checkpoints/derived-contexts.ts';
import { type Caller, ROLES, type Role } from '../../lambda/http/caller.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import type { Operator } from '../../lambda/operator/operator.ts';
import type { AgentOptions } from '../../lambda/runtime/agent/agent-options.ts';
import type { Delivery } from '../../lambda/runtime/runtime.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { TestClock } from '../../lambda/testing.ts';
import type { OpenApi } from './open-api.ts';
import { type SeededRuns, seedRuns, trips } from './seed-runs.ts';

/** In every text of the tenant that is attacked, and in nothing that the attacker knows. */
export const MARK = 'zqxjkv';
export const VICTIM = 'south';
export const ATTACKER = 'north';

/** What is asked of the application. */
export interface AttackRequest {
  readonly method: string;
  /** As it is sent, query included. */
  readonly path: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string | Uint8Array | undefined;
  /** Nobody is undefined. */
  readonly as?: Caller | undefined;
}

/** What was answered. */
export interface AttackResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly text: string;
}

/** What the attacker has in their own runs tries to be markup on a page. */
export const markupText = (what: string): string => `our ${what}"><img src=x onerror=x()><script>x()</script>`;

/** Whoever an attacker is: somebody of their own tenant, who may do everything there. */
export const attacker = (
  fields: Partial<Omit<Caller, 'roles'>> & { readonly roles?: readonly Role[] } = {},
): Caller => ({
  ...{ tenant: ATTACKER, person: 'user:ann', groups: ['group:desk'], answersForOthers: true },
  ...fields,
  roles: new Set(fields.roles ?? ROLES),
});

/** The application with two tenants who have runs of all kinds: one attacks, the other must not notice. */
export async function attackScene(storage: Storage) {
  const clock = new TestClock(Date.parse('2026-05-01T10:00:00Z'));
  const logged: string[] = [];
  const queue: Delivery[] = [];
  const deliver = async (delivery: Delivery) => void queue.push(delivery);
  const place: AgentOptions = { storage, clock, deliver, log: () => {}, chance: () => 0.5 };
  const running = trips.with(place);
  const { runtime } = running;
  let invocations = 0;
  const app = createApi({
    runtime,
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

  async function ask({ method, path, headers = [], body, as }: AttackRequest): Promise<AttackResponse> {
    const init = { method, headers: headers.map(([name, value]): [string, string] => [name, value]) };
    const sent = body === undefined ? init : { ...init, body: body as string };
    const response = await app.request(`http://localhost${path}`, sent, { caller: as });
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { status: response.status, headers: response.headers, bytes, text: Buffer.from(bytes).toString() };
  }

  /** Lets every run that is ready go as far as it can. */
  async function settle(): Promise<void> {
    for (let next = queue.shift(); next; next = queue.shift())
      if (next.agent === trips.name)
        // What an agent makes of such inputs is its own affair.
        await running
          .invoke(next, { by: `invocation ${++invocations}`, until: clock.now() + 900_000 })
          .catch(() => undefined);
  }

  const operator = (tenant: string): Operator =>
    createOperator({ ...runtime, contexts: withTenant(runtime.contexts, tenant) });
  const at = { place, operator, settle, clock };
  const own = await seedRuns(at, { tenant: ATTACKER, prefix: 'own', words: markupText });
  const kept = await seedRuns(at, { tenant: ATTACKER, prefix: 'kept-out-of-reach', words: (what) => `kept ${what}` });
  const theirs = await seedRuns(at, { tenant: VICTIM, prefix: 'known', words: (what) => `${MARK} ${what}` });
  const hidden = await seedRuns(at, { tenant: VICTIM, prefix: `${MARK}-run`, words: (what) => `${MARK} ${what}` });
  const described = await ask({ method: 'GET', path: '/api/openapi.json', as: attacker() });
  return {
    ...{ app, ask, settle, clock, logged, runtime, storage, operator, own, theirs },
    openApi: JSON.parse(described.text) as OpenApi,
    /** All that must stay what it is, whatever is asked: the other tenant's, and what of the attacker's own nobody names. */
    async untouched(): Promise<unknown> {
      const all: [SeededRuns, Operator][] = [
        [kept, operator(ATTACKER)],
        [theirs, operator(VICTIM)],
        [hidden, operator(VICTIM)],
      ];
      const runs = await Promise.all(all.map(async ([furnished, of]) => furnished.readAll(of)));
      return { runs, list: await operator(VICTIM).runs(), counts: await operator(VICTIM).counts() };
    },
  };
}

export type AttackScene = Awaited<ReturnType<typeof attackScene>>;
