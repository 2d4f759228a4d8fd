import { createApi } from '../../lambda/api/app.ts';
import type { KnownAgent } from '../../lambda/http/app-options.ts';
import { type Caller, ROLES, type Role } from '../../lambda/http/caller.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import type { Agent } from '../../lambda/runtime/agent/agent.ts';
import { type TestOptions, testAgents } from '../../lambda/testing.ts';
import { wholePage } from './well-formed.ts';

/** A caller with the given fields, and every role unless the test names some. */
export const caller = (fields: Partial<Omit<Caller, 'roles'>> & { readonly roles?: readonly Role[] } = {}): Caller => ({
  tenant: 'default',
  person: 'user:ann',
  groups: [],
  decidesForOthers: false,
  ...fields,
  roles: new Set(fields.roles ?? ROLES),
});

/** The response that a browser got. */
export interface PageResponse {
  readonly status: number;
  readonly page: string;
  readonly location: string;
}

export interface SceneOptions extends TestOptions {
  readonly offered?: readonly KnownAgent[];
}

/** An agent, its runs and clock, and a browser on the application. Every page that it gets is checked to be well-formed. */
export function consoleScene<Input, State, Result>(
  given: Agent<Input, State, Result>,
  { offered, ...options }: SceneOptions = {},
) {
  const world = testAgents(given, options);
  let who = caller();
  const app = createApi({
    runtime: world.agent.runtime,
    identify: () => who,
    telemetry: { log: () => {}, count: () => {} },
    ...(offered && { agents: async () => offered }),
  });
  async function fetchPage(path: string, init: RequestInit, as: Caller): Promise<PageResponse> {
    who = as;
    const response = await app.request(path, { ...init, headers: { accept: 'text/html', ...init.headers } });
    const page = await response.text();
    const isFragment = page.includes('<title>Changes</title>');
    if (page !== '' && !isFragment) wholePage(page);
    return { status: response.status, page, location: response.headers.get('location') ?? '' };
  }
  return {
    ...world,
    operator: createOperator(world.agent.runtime),
    get: (path: string, as = caller()): Promise<PageResponse> => fetchPage(path, {}, as),
    /** Submits a form as a browser does, then runs everything that is ready. */
    async post(path: string, form: Readonly<Record<string, string>>, as = caller()): Promise<PageResponse> {
      const headers = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' };
      const got = await fetchPage(path, { method: 'POST', headers, body: new URLSearchParams(form).toString() }, as);
      await world.settle();
      return got;
    },
  };
}
