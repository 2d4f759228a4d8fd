import autocannon from 'autocannon';
import type { ServerUnderLoad } from './local-server.ts';
import type { Story } from './stories.ts';

/** What was sent in a while, and how it was answered. */
export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  /** Percentiles, in milliseconds. */
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
  /** Answers above 299, and none at all. */
  readonly refused: number;
  readonly failed: number;
}

interface Mixing {
  readonly seconds: number;
  readonly connections: number;
  /** Requests per second altogether. @default as many as are answered */
  readonly rate?: number;
}

/** Runs that were saved from outside, as agents in other languages do; those of which that was answered. */
export class SavedRuns {
  readonly confirmed = new Set<string>();
  #sent = 0;

  next(): string {
    this.#sent += 1;
    return `saved-${this.#sent}`;
  }
}

type Request = autocannon.Request;

interface Kind {
  readonly request: Request;
  /** That it goes on from the one before it, and cannot be sent alone. */
  readonly needs?: true;
}

/** What people and programs ask for when no agent has to run: in turn, each connection with a run of its own. */
export function requestKinds(saved: SavedRuns, stories: readonly Story[]): Readonly<Record<string, Kind>> {
  const [{ run, key, link } = { run: '', key: '', link: 'http://127.0.0.1/' }] = stories;
  const page = { headers: { accept: 'text/html' } };
  const json = { 'content-type': 'application/json' };
  let last = '';
  const runIn = (context: object): string => (context as { run?: string }).run ?? last;
  const ofRun = (path: string): Pick<Request, 'setupRequest'> => ({
    setupRequest: (request, context) => ({ ...request, path: `/api/runs/${runIn(context)}${path}` }),
  });
  const state = (note: string, step: string) => JSON.stringify({ state: { note: note.repeat(1_000) }, step });
  const save: Request = {
    ...{ method: 'POST', body: state('x', 'one'), headers: { ...json, 'if-none-match': '*' } },
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
  const again: Request = { method: 'POST', body: state('y', 'two'), headers: { ...json, 'if-match': '"1"' } };
  const start: Request = { method: 'POST', path: '/api/runs', body: JSON.stringify({ agent: 'load' }) };
  return {
    'save a new run': { request: save },
    'save once more': { request: { ...again, ...ofRun('/checkpoints') }, needs: true },
    'start with a key that was used': { request: { ...start, headers: { ...json, 'idempotency-key': key } } },
    'a run': { request: ofRun('') },
    'its checkpoints': { request: ofRun('/checkpoints') },
    'its newest state': { request: ofRun('/checkpoints/latest') },
    'a list of 20 runs': { request: { path: '/api/runs?limit=20' } },
    'a list of 20 runs by status': { request: { path: '/api/runs?limit=20&status=SUCCEEDED' } },
    'approvals that are open': { request: { path: '/api/approvals?all=true' } },
    'console: runs': { request: { path: '/console/runs', ...page } },
    'console: a run': { request: { path: `/console/runs/${run}`, ...page } },
    'console: inbox': { request: { path: '/console/inbox', ...page } },
    'page of a link': { request: { path: new URL(link).pathname, ...page } },
  };
}

/** Sends these requests again and again, each connection one after the other. */
export async function sendLoad(
  { url, key }: ServerUnderLoad,
  requests: readonly Request[],
  { seconds, connections, rate }: Mixing,
): Promise<LoadResult> {
  const authorization = `Bearer ${key}`;
  const result = await autocannon({
    ...{ url, connections, duration: Math.ceil(seconds), timeout: 30 },
    requests: requests.map((each) => ({ ...each, headers: { authorization, ...each.headers } })),
    ...(rate !== undefined && { overallRate: rate }),
  });
  const { latency, requests: sent, errors, timeouts, non2xx, duration } = result;
  return {
    ...{ requests: sent.total, perSecond: sent.total / duration, refused: non2xx, failed: errors + timeouts },
    ...{ p50: latency.p50, p90: latency.p90, p99: latency.p99, max: latency.max },
  };
}
