import { expect } from 'vitest';
import { createApi } from '../../lambda/api/app.ts';
import { problemStatuses } from '../../lambda/api/open-api.ts';
import type { Route } from '../../lambda/api/route.ts';
import { ROUTES } from '../../lambda/api/routes/routes.ts';
import { ProblemSchema } from '../../lambda/api/schemas/problems.ts';
import { withTenant } from '../../lambda/checkpoints/derived-contexts.ts';
import type { Person } from '../../lambda/core/approval.ts';
import type { AppOptions } from '../../lambda/http/app-options.ts';
import { type Caller, ROLES, type Role } from '../../lambda/http/caller.ts';
import { agent, payload } from '../../lambda/index.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import type { Operator } from '../../lambda/operator/operator.ts';
import type { AgentOptions } from '../../lambda/runtime/agent/agent-options.ts';
import type { Delivery } from '../../lambda/runtime/runtime.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { TestClock } from '../../lambda/testing.ts';
import { linkFor } from '../runtime/approvals/scene.ts';

/** A request of a test. */
export interface ApiRequest {
  readonly method?: string;
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** @default a person with every role */
  readonly as?: Caller | undefined | 'nobody';
}

/** A caller with the given fields, and every role unless the test names some. */
export const caller = (fields: Partial<Omit<Caller, 'roles'>> & { readonly roles?: readonly Role[] } = {}): Caller => ({
  tenant: 'default',
  person: 'user:ann',
  groups: [],
  decidesForOthers: false,
  ...fields,
  roles: new Set(fields.roles ?? ROLES),
});

/** Bytes that look like the start of an image. */
export const PICTURE = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0, 1, 2]);

/** A response. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

/** The application on a storage, with an agent that requests approvals, waits and fails as its input says. */
export function apiScene(
  storage: Storage = memoryStorage(),
  agentOptions: AgentOptions = {},
  options: Partial<AppOptions> = {},
) {
  const clock = new TestClock(Date.parse('2026-05-01T10:00:00Z'));
  const logged: string[] = [];
  const counted: string[] = [];
  const queue: Delivery[] = [];
  const deliver = async (delivery: Delivery) => void queue.push(delivery);
  const trips = tripsAgent({ ...agentOptions, storage, clock, deliver, log: () => {} });
  let as: Caller | undefined = caller();
  let invocations = 0;
  const { runtime } = trips;
  const app = createApi({
    runtime,
    identify: () => as,
    telemetry: {
      log: (level, message, fields) => void logged.push(JSON.stringify({ level, message, ...fields })),
      count: (metric) => void counted.push(metric),
    },
    ...options,
  });

  async function callApi(
    path: string,
    { method, json, body, headers = {}, as: who }: ApiRequest = {},
  ): Promise<ApiResponse> {
    as = who === 'nobody' ? undefined : (who ?? caller());
    const given = json === undefined ? body : JSON.stringify(json);
    const type = json === undefined ? {} : { 'content-type': 'application/json' };
    const response = await app.request(path, {
      method: method ?? (given === undefined ? 'GET' : 'POST'),
      headers: { ...type, ...headers },
      ...(given !== undefined && { body: given as string }),
    });
    const text = await response.text();
    const isJson = /[/+]json$/.test(response.headers.get('content-type') ?? '');
    const got = {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson && text ? JSON.parse(text) : {},
    };
    checkDescribed(method ?? (given === undefined ? 'GET' : 'POST'), path, got);
    return got;
  }

  return {
    app,
    callApi,
    clock,
    logged,
    counted,
    runtime,
    storage,
    trips,
    operator: (tenant = 'default'): Operator =>
      createOperator({ ...runtime, contexts: withTenant(runtime.contexts, tenant) }),
    /** Runs every ready run until it is suspended or has ended. */
    async settle(): Promise<void> {
      for (let next = queue.shift(); next; next = queue.shift())
        if (next.agent === 'trips')
          await trips.invoke(next, { by: `invocation ${++invocations}`, until: clock.now() + 900_000 });
    },
    async linkTo(run: string, approval = 'book', person: Person = 'user:ann', tenant = 'default'): Promise<string> {
      const at = await withTenant(runtime.contexts, tenant).forRun(run);
      return linkFor(at, { tenant, run, approval, person, expiresAt: clock.now() + 7 * 86_400_000 });
    },
  };
}

export type ApiScene = ReturnType<typeof apiScene>;

interface Trip {
  readonly budget?: number;
  readonly fails?: boolean;
  readonly note?: string;
}

const tripsAgent = (options: AgentOptions) =>
  agent(
    {
      name: 'trips',
      state: {
        initial: (input: Trip | null) => ({ budget: input?.budget ?? 0, note: input?.note ?? '', seen: ['begun'] }),
      },
      async run(ctx, input) {
        const shot = payload(PICTURE, { type: 'image/png' });
        await ctx.update((draft) => {
          draft.seen.push('searched');
          Object.assign(draft, { shot });
        });
        if (input?.fails)
          await ctx.step('break', () => Promise.reject(new Error('broken')), { retry: { maxAttempts: 1 } });
        const { approved, edits } = await ctx.approval('book', {
          title: 'Book it?',
          show: {
            price: 12,
            when: new Date(0),
            shot,
            page: payload('<script>alert(1)</script>', { type: 'text/html' }),
          },
          facts: { budget: input?.budget ?? 0 },
          approvers: ['user:ann', 'group:desk'],
          timeout: { days: 1 },
          editable: true,
        });
        if (!approved) return { booked: false };
        const seat = await ctx.waitForSignal('seat');
        return { booked: true, seat, edits };
      },
    },
    options,
  );

/** Fails if a response is not one that the OpenAPI document describes. */
function checkDescribed(method: string, path: string, { status, text, json, headers }: ApiResponse): void {
  const route = routeOf(method, path);
  const type = headers.get('content-type') ?? '';
  if (type === 'application/problem+json') {
    expect(ProblemSchema.parse(json)).toEqual(json);
    expect(text).not.toMatch(/\\n\s+at |node_modules|\.ts:\d/);
    if (route) expect([...problemStatuses(route), 405], `${method} ${route.path}`).toContain(status);
    return;
  }
  if (!route) return;
  const described = route.responses[status];
  if (status < 400) expect(described, `${method} ${route.path} answered ${status}`).toBeDefined();
  if (type === 'application/json' && text !== '' && described?.schema) {
    const { error } = described.schema.safeParse(json);
    expect(error?.issues ?? [], `${method} ${route.path}: ${text.slice(0, 500)}`).toEqual([]);
  }
}

const routeOf = (method: string, path: string): Route | undefined =>
  ROUTES.find(
    (route) =>
      route.method === method.replace('HEAD', 'GET') &&
      new RegExp(`^${route.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(path.split('?')[0] ?? ''),
  );
