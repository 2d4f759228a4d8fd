import { encodePathId } from '../core/encode-path-id.ts';
import type { Status } from '../core/status.ts';
import { requireOk } from './client-error.ts';
import { type FollowOptions, followRun } from './follow-run.ts';
import type { RunEvent } from './run-event.ts';

export interface ClientOptions {
  /** The URL of the API. In a browser, a path such as `/waitstate` works too. */
  readonly url: string;
  /** Headers of each request, such as `authorization`. A function is called for each request. @default none */
  readonly headers?: Readonly<Record<string, string>> | (() => HeaderValues | Promise<HeaderValues>);
  /** @default the global `fetch` */
  readonly fetch?: typeof fetch;
}

type HeaderValues = Readonly<Record<string, string>>;

/** A run to start. */
export interface StartOptions {
  readonly agent: string;
  readonly input?: unknown;
  /** The id of the run. @default a new id */
  readonly id?: string;
  /** Makes the request safe to repeat: the same key starts one run. */
  readonly idempotencyKey?: string;
  readonly owner?: string;
  readonly tags?: readonly string[];
}

/** A run as the API returns it; the OpenAPI document lists all fields. */
export interface RunInfo {
  readonly run: string;
  readonly status: Status;
  readonly agent?: string;
  readonly version: number;
  readonly input?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string; readonly code?: string };
  readonly pendingApprovals: readonly string[];
}

/** An approval as the API returns it; the OpenAPI document lists all fields. */
export interface ApprovalInfo {
  readonly run: string;
  readonly id: string;
  readonly status: string;
  readonly title: string;
  readonly show?: unknown;
  readonly facts?: unknown;
  readonly contentHash: string;
}

/** A decision on an approval. */
export interface ClientDecision {
  readonly answer: 'approve' | 'reject';
  /** The hash of what the person saw: `contentHash` of the approval. */
  readonly contentHash: string;
  readonly comment?: string;
  readonly edits?: unknown;
}

/** A client for the HTTP API. Each method throws ClientError for an error response. */
export interface Client {
  /** Starts a run. */
  start(options: StartOptions): Promise<{ readonly run: string }>;
  run(run: string): Promise<RunInfo>;
  /** The events of a run until it ends, across lost connections. */
  follow(run: string, options?: FollowOptions): AsyncGenerator<RunEvent, void>;
  signal(run: string, name: string, value?: unknown): Promise<void>;
  cancel(run: string, reason?: string): Promise<void>;
  /** The approvals that the caller can decide. */
  inbox(): Promise<readonly ApprovalInfo[]>;
  approval(run: string, approval: string): Promise<ApprovalInfo>;
  decide(run: string, approval: string, decision: ClientDecision): Promise<ApprovalInfo>;
}

/** Creates a client for the HTTP API, for browsers and servers. It needs no other package. */
export function createClient({ url, headers = {}, fetch: send = fetch }: ClientOptions): Client {
  const base = url.replace(/\/+$/, '');
  const request = async (path: string, init: RequestInit & { readonly headers?: HeaderValues } = {}) => {
    const given = typeof headers === 'function' ? await headers() : headers;
    return requireOk(await send(base + path, { ...init, headers: { ...given, ...init.headers } }));
  };
  const get = async <T>(path: string) => (await (await request(path)).json()) as T;
  const post = async <T>(path: string, body: object, extra: HeaderValues = {}) => {
    const sent = { method: 'POST', headers: { 'content-type': 'application/json', ...extra } };
    return (await (await request(path, { ...sent, body: JSON.stringify(body) })).json()) as T;
  };
  const runPath = (run: string) => `/api/runs/${encodePathId(run)}`;
  const approvalPath = (run: string, approval: string) => `${runPath(run)}/approvals/${encodePathId(approval)}`;
  return {
    start: ({ idempotencyKey, ...body }) =>
      post('/api/runs', body, idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    run: (run) => get(runPath(run)),
    follow: (run, options = {}) =>
      followRun((after, signal) => {
        const query = new URLSearchParams({ output: String(options.output ?? true), ...(after && { after }) });
        const accept = { headers: { accept: 'text/event-stream' } };
        return request(`${runPath(run)}/events?${query}`, { ...accept, ...(signal && { signal }) });
      }, options),
    signal: async (run, name, value) => void (await post(`${runPath(run)}/signals`, { name, value })),
    cancel: async (run, reason) => void (await post(`${runPath(run)}/cancel`, { reason })),
    inbox: async () => (await get<{ approvals: readonly ApprovalInfo[] }>('/api/approvals')).approvals,
    approval: (run, approval) => get(approvalPath(run, approval)),
    decide: (run, approval, decision) => post(`${approvalPath(run, approval)}/decide`, decision),
  };
}
