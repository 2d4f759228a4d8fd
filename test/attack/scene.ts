import { createApi } from '../../lambda/api/app.ts';
import { contextsFor } from '../../lambda/checkpoints/derived-contexts.ts';
import { type Caller, ROLES, type Role } from '../../lambda/http/caller.ts';
import { deskOn } from '../../lambda/operator/create-operator.ts';
import type { Desk } from '../../lambda/operator/operator.ts';
import type { AgentPlace } from '../../lambda/runtime/agent/agent-options.ts';
import type { Delivery } from '../../lambda/runtime/runtime.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { TestClock } from '../../lambda/testing.ts';
import { type Furnished, furnish, trips } from './furnish.ts';
import type { OpenApi } from './open-api.ts';

/** In every text of the tenant that is attacked, and in nothing that the attacker knows. */
export const MARK = 'zqxjkv';
export const VICTIM = 'south';
export const ATTACKER = 'north';

/** What is asked of the application. */
export interface Asked {
  readonly method: string;
  /** As it is sent, query included. */
  readonly path: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string | Uint8Array | undefined;
  /** Nobody is undefined. */
  readonly as?: Caller | undefined;
}

/** What was answered. */
export interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly text: string;
}

/** What the attacker has in their own runs tries to be markup on a page. */
export const ownWords = (what: string): string => `our ${what}"><img src=x onerror=x()><script>x()</script>`;

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
  const place: AgentPlace = { storage, clock, deliver, log: () => {}, chance: () => 0.5 };
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
    observing: {
      log: (level, message, fields) => void logged.push(JSON.stringify({ level, message, ...fields })),
      count: () => {},
    },
  });

  async function ask({ method, path, headers = [], body, as }: Asked): Promise<Got> {
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

  const desk = (tenant: string): Desk => deskOn({ ...runtime, contexts: contextsFor(runtime.contexts, tenant) });
  const at = { place, desk, settle, clock };
  const own = await furnish(at, { tenant: ATTACKER, prefix: 'own', words: ownWords });
  const kept = await furnish(at, { tenant: ATTACKER, prefix: 'kept-out-of-reach', words: (what) => `kept ${what}` });
  const theirs = await furnish(at, { tenant: VICTIM, prefix: 'known', words: (what) => `${MARK} ${what}` });
  const hidden = await furnish(at, { tenant: VICTIM, prefix: `${MARK}-run`, words: (what) => `${MARK} ${what}` });
  const described = await ask({ method: 'GET', path: '/api/openapi.json', as: attacker() });
  return {
    ...{ app, ask, settle, clock, logged, runtime, storage, desk, own, theirs },
    openApi: JSON.parse(described.text) as OpenApi,
    /** All that must stay what it is, whatever is asked: the other tenant's, and what of the attacker's own nobody names. */
    async untouched(): Promise<unknown> {
      const all: [Furnished, Desk][] = [
        [kept, desk(ATTACKER)],
        [theirs, desk(VICTIM)],
        [hidden, desk(VICTIM)],
      ];
      const runs = await Promise.all(all.map(async ([furnished, of]) => furnished.look(of)));
      return { runs, list: await desk(VICTIM).runs(), counts: await desk(VICTIM).counts() };
    },
  };
}

export type AttackScene = Awaited<ReturnType<typeof attackScene>>;
