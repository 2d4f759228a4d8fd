import { ClientError } from './client-error.ts';
import { parseEventStream } from './event-stream.ts';
import type { RunEvent } from './run-event.ts';

export interface FollowOptions {
  /** The id of the last event that you have; events after it follow. @default from the beginning */
  readonly after?: string | undefined;
  /** Whether to include the output of running steps. @default true */
  readonly output?: boolean | undefined;
  /** How long to wait before connecting again; more after failures, and while nothing happens. @default 1,000 */
  readonly reconnectMs?: number | undefined;
  /** Stops following. */
  readonly signal?: AbortSignal | undefined;
}

/** Opens a stream of events after an id; throws ClientError for an error response. */
type Connect = (after: string | undefined, signal: AbortSignal | undefined) => Promise<Response>;

const MAX_RECONNECT_MS = 30_000;
const MAX_IDLE_MS = 10_000;

/**
 * The events of a run until it ends. When the connection is lost or the server ends it, it connects again after the last
 * event, so that none is missed or repeated. Only output can be missed.
 */
export async function* followRun(
  connect: Connect,
  { after, signal, reconnectMs = 1_000 }: FollowOptions,
): AsyncGenerator<RunEvent, void> {
  let last = after;
  let status: string | undefined;
  // Connections in a row that failed, or that brought nothing new.
  let failures = 0;
  let idle = 0;
  for (;;) {
    try {
      idle += 1;
      const { body } = await connect(last, signal);
      if (!body) throw new TypeError('The response has no body.');
      for await (const { id, event, data } of parseEventStream(body)) {
        failures = 0;
        if (id !== undefined) last = id;
        if (event === 'problem') break;
        const next = { ...JSON.parse(data), ...(id !== undefined && { id }), type: event } as RunEvent;
        // After each connection the server says the status again.
        if (next.type === 'status' && next.status === status) continue;
        if (next.type === 'status') status = next.status;
        idle = 0;
        yield next;
        if (next.type === 'end') return;
      }
    } catch (error) {
      if (signal?.aborted || isPermanent(error)) throw error;
      failures += 1;
    }
    const delays = [reconnectMs * 2 ** failures, Math.min(reconnectMs * 1.5 ** idle, MAX_IDLE_MS)];
    await wait(Math.min(Math.max(...delays), MAX_RECONNECT_MS) * (0.5 + Math.random() / 2), signal);
  }
}

/** Whether the same request would fail again. */
const isPermanent = (error: unknown): boolean =>
  error instanceof ClientError && error.status < 500 && error.status !== 429 && error.status !== 408;

const wait = (milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
