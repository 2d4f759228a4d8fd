import type { Sign } from '../../../cli/commands/console/signing.ts';

/** What an API answered to what. */
export interface Answer {
  readonly request: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

interface Sent {
  /** @default none */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** @default true */
  readonly signed?: boolean;
}

/** Asks an API. */
export type Api = (method: 'GET' | 'POST', path: string, sent?: Sent) => Promise<Answer>;

const TRIES = 3;
const TIMEOUT_MS = 35_000;

/** The API at a URL, with signed requests. What does not get through is sent again: the story sends nothing that must not come twice. */
export function apiAt(url: string, sign: Sign, signal: AbortSignal): Api {
  return async (method, path, { body, headers = {}, signed = true } = {}) => {
    const target = `${url.replace(/\/+$/, '')}${path}`;
    const bytes = body === undefined ? undefined : new TextEncoder().encode(JSON.stringify(body));
    const ask = async (): Promise<Answer> => {
      const all = new Headers(signed ? await sign({ url: target, method, body: bytes }) : {});
      if (bytes) all.set('content-type', 'application/json');
      for (const [name, value] of Object.entries(headers)) all.set(name, value);
      const answer = await fetch(target, {
        ...{ method, headers: all, body: bytes ?? null, redirect: 'manual' },
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      const text = await answer.text();
      return { request: `${method} ${path}`, status: answer.status, headers: answer.headers, body: parsed(text) };
    };
    for (let tries = 1; ; tries++) {
      try {
        return await ask();
      } catch (error) {
        signal.throwIfAborted();
        if (tries === TRIES) throw noAnswer(`${method} ${target}`, error);
      }
    }
  };
}

/** JSON where it is JSON; what API Gateway itself says need not be. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function noAnswer(request: string, error: unknown): Error {
  const { message, cause } = Object(error) as Error;
  return new Error(`${request} got no answer: ${cause instanceof Error ? cause.message : message}.`, { cause: error });
}
