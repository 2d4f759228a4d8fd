import type { Sign } from '../../../cli/commands/console/signing.ts';

/** The response of an API to a request. */
export interface ApiResponse {
  readonly request: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

interface RequestOptions {
  /** @default none */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** @default true */
  readonly signed?: boolean;
}

/** Sends a request to an API. */
export type Api = (method: 'GET' | 'POST', path: string, options?: RequestOptions) => Promise<ApiResponse>;

const TRIES = 3;
const TIMEOUT_MS = 35_000;

/**
 * The API at a URL, with signed requests. Requests without a response are retried, since all requests of the story are
 * idempotent.
 */
export function apiAt(url: string, sign: Sign, signal: AbortSignal): Api {
  return async (method, path, { body, headers = {}, signed = true } = {}) => {
    const target = `${url.replace(/\/+$/, '')}${path}`;
    const bytes = body === undefined ? undefined : new TextEncoder().encode(JSON.stringify(body));
    const send = async (): Promise<ApiResponse> => {
      const all = new Headers(signed ? await sign({ url: target, method, body: bytes }) : {});
      if (bytes) all.set('content-type', 'application/json');
      for (const [name, value] of Object.entries(headers)) all.set(name, value);
      const response = await fetch(target, {
        method,
        headers: all,
        body: bytes ?? null,
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      const text = await response.text();
      return { request: `${method} ${path}`, status: response.status, headers: response.headers, body: parsed(text) };
    };
    for (let tries = 1; ; tries++) {
      try {
        return await send();
      } catch (error) {
        signal.throwIfAborted();
        if (tries === TRIES) throw noResponse(`${method} ${target}`, error);
      }
    }
  };
}

/** The parsed JSON, or the text; responses of API Gateway itself may not be JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function noResponse(request: string, error: unknown): Error {
  const { message, cause } = Object(error) as Error;
  return new Error(`${request} got no response: ${cause instanceof Error ? cause.message : message}.`, {
    cause: error,
  });
}
