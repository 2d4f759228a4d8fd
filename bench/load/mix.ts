import autocannon from 'autocannon';
import type { ServerUnderLoad } from './local-server.ts';
import type { Story } from './stories.ts';

/** The requests sent in a period, and their responses. */
export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  /** Percentiles, in milliseconds. */
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
  /** Responses with a status above 299. */
  readonly refused: number;
  /** Requests without a response. */
  readonly failed: number;
}

interface LoadSettings {
  readonly seconds: number;
  readonly connections: number;
  /** Requests per second on all connections together. @default unlimited: a closed loop */
  readonly rate?: number;
}

/** Runs saved through the API, as agents in other languages do. */
export class SavedRuns {
  /** The runs whose save was confirmed by a response. */
  readonly confirmed = new Set<string>();
  #sent = 0;

  next(): string {
    this.#sent += 1;
    return `saved-${this.#sent}`;
  }
}

type Request = autocannon.Request;

interface RequestKind {
  readonly request: Request;
  /** Whether it continues the request before it and cannot be sent alone. */
  readonly needsPrevious?: true;
}

/** The kinds of requests that do not run an agent. Connections send them in turn, each with its own run. */
export function requestKinds(saved: SavedRuns, stories: readonly Story[]): Readonly<Record<string, RequestKind>> {
  const [{ run, key, started, link } = { run: '', key: '', started: {}, link: 'http://127.0.0.1/' }] = stories;
  const page = { headers: { accept: 'text/html' } };
  const json = { 'content-type': 'application/json' };
  let last = '';
  const runIn = (context: object): string => (context as { run?: string }).run ?? last;
  const forRun = (path: string): Pick<Request, 'setupRequest'> => ({
    setupRequest: (request, context) => ({ ...request, path: `/api/runs/${runIn(context)}${path}` }),
  });
  const state = (note: string, step: string) => JSON.stringify({ state: { note: note.repeat(1_000) }, step });
  const save: Request = {
    method: 'POST',
    body: state('x', 'one'),
    headers: { ...json, 'if-none-match': '*' },
    setupRequest(request, context) {
      Object.assign(context, { run: saved.next() });
      return { ...request, path: `/api/runs/${runIn(context)}/checkpoints` };
    },
    onResponse(status, _, context) {
      if (status !== 201) return;
      last = runIn(context);
      saved.confirmed.add(last);
    },
  };
  const saveAgain: Request = { method: 'POST', body: state('y', 'two'), headers: { ...json, 'if-match': '"1"' } };
  const start: Request = { method: 'POST', path: '/api/runs', body: JSON.stringify(started) };
  return {
    'save a new run': { request: save },
    'save it again': { request: { ...saveAgain, ...forRun('/checkpoints') }, needsPrevious: true },
    'start with a used idempotency key': { request: { ...start, headers: { ...json, 'idempotency-key': key } } },
    'a run': { request: forRun('') },
    'its checkpoints': { request: forRun('/checkpoints') },
    'its newest state': { request: forRun('/checkpoints/latest') },
    'a list of 20 runs': { request: { path: '/api/runs?limit=20' } },
    'a list of 20 runs by status': { request: { path: '/api/runs?limit=20&status=SUCCEEDED' } },
    'pending approvals': { request: { path: '/api/approvals?all=true' } },
    'console: runs': { request: { path: '/console/runs', ...page } },
    'console: a run': { request: { path: `/console/runs/${run}`, ...page } },
    'console: inbox': { request: { path: '/console/inbox', ...page } },
    'approval page': { request: { path: new URL(link).pathname, ...page } },
  };
}

/** Sends these requests repeatedly; each connection sends one at a time. */
export async function sendLoad(
  { url, key }: ServerUnderLoad,
  requests: readonly Request[],
  { seconds, connections, rate }: LoadSettings,
): Promise<LoadResult> {
  const authorization = `Bearer ${key}`;
  const result = await autocannon({
    url,
    connections,
    duration: Math.ceil(seconds),
    timeout: 30,
    requests: requests.map((each) => ({ ...each, headers: { authorization, ...each.headers } })),
    ...(rate !== undefined && { overallRate: rate }),
  });
  const { latency, requests: sent, errors, timeouts, non2xx, duration } = result;
  return {
    requests: sent.total,
    perSecond: sent.total / duration,
    refused: non2xx,
    failed: errors + timeouts,
    p50: latency.p50,
    p90: latency.p90,
    p99: latency.p99,
    max: latency.max,
  };
}
