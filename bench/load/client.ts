import type { Latencies } from './latencies.ts';
import type { ServerUnderLoad } from './local-server.ts';

/** The response to a request. */
export interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

interface Request {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
}

/** Sends a request with the server's API key, and records its latency under `what`. */
export type Client = (what: string, path: string, request?: Request) => Promise<Answer>;

export const createClient =
  ({ url, key }: Pick<ServerUnderLoad, 'url' | 'key'>, latencies: Latencies): Client =>
  async (what, path, { method, headers = {}, json, form } = {}) => {
    const body = form
      ? new URLSearchParams({ ...form }).toString()
      : json === undefined
        ? undefined
        : JSON.stringify(json);
    const type = form ? 'application/x-www-form-urlencoded' : 'application/json';
    const startedAt = performance.now();
    const response = await fetch(new URL(path, url), {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': type }), ...headers },
      redirect: 'manual',
      ...(body !== undefined && { body }),
    });
    const text = await response.text();
    latencies.add(what, performance.now() - startedAt);
    const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, json: isJson && text !== '' ? JSON.parse(text) : {} };
  };
