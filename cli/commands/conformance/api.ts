import { encodePathId } from '../../../lambda/core/encode-path-id.ts';

/** A response of the server. */
interface ApiResponse {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

/** Calls a server. */
export interface Api {
  get(path: string): Promise<ApiResponse>;
  post(path: string, body: object, headers?: Readonly<Record<string, string>>): Promise<ApiResponse>;
  /** Writes to a run, on top of a version. */
  write(run: string, route: string, version: number, body: object): Promise<ApiResponse>;
}

const TIMEOUT_MS = 40_000;

/** Creates a client for a server; it throws only if there is no response. */
export function createApi(url: string, key: string | undefined): Api {
  const base = url.replace(/\/+$/, '');
  async function send(path: string, init: RequestInit): Promise<ApiResponse> {
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const response = await fetch(base + path, {
      ...init,
      headers: { ...authorization, ...init.headers },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    return { status: response.status, json: /json$/.test(contentType(response)) && text ? JSON.parse(text) : {} };
  }
  const post: Api['post'] = (path, body, headers = {}) =>
    send(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  return {
    get: (path) => send(path, {}),
    post,
    write: (run, route, version, body) => post(`${runPath(run)}/${route}`, body, { 'if-match': `"${version}"` }),
  };
}

const contentType = ({ headers }: Response): string => headers.get('content-type')?.split(';')[0] ?? '';

/** The path of a run. */
export const runPath = (run: string): string => `/api/runs/${encodePathId(run)}`;
