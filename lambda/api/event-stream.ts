import { setTimeout as delay } from 'node:timers/promises';
import { isWaiting } from '../core/status.ts';
import { toProblem } from '../http/problem.ts';
import type { RunEventsPage } from '../operator/run-events.ts';

/** How long a reader waits before it connects again: longer while the run waits, because little happens then. */
const RECONNECT_MS = { active: 2_000, waiting: 10_000 };
/** How often an idle connection shows that it is alive. */
const HEARTBEAT_MS = 15_000;
/** A stream ends after this time, and the reader connects again where it was. */
const MAX_STREAM_MS = 15 * 60_000;

interface EventStreamOptions {
  /** Loads the events after a cursor. */
  readonly load: (after: string | undefined) => Promise<RunEventsPage>;
  /** How often to look for new events; without it, the stream ends after the events so far. */
  readonly pollMs: number | undefined;
  /** Aborts when the reader disconnects. */
  readonly signal: AbortSignal;
}

/**
 * A response with server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html. It begins with the
 * first page, so an error of that page is an error of the request. Each message has an id to resume from.
 */
export function eventStream(first: RunEventsPage, options: EventStreamOptions): Response {
  const encoder = new TextEncoder();
  const messages = streamMessages(first, options);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value, done } = await messages.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    cancel: async () => void (await messages.return()),
  });
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  });
}

async function* streamMessages(first: RunEventsPage, options: EventStreamOptions): AsyncGenerator<string, void> {
  const { load, pollMs, signal } = options;
  yield `retry: ${RECONNECT_MS[isWaiting(first.status) ? 'waiting' : 'active']}\n\n`;
  const startedAt = performance.now();
  let sentAt = startedAt;
  let sentStatus: string | undefined;
  for (let page = first; ; ) {
    const text = formatPage(page, sentStatus);
    if (text !== '' || performance.now() - sentAt > HEARTBEAT_MS) {
      yield text || ': alive\n\n';
      sentAt = performance.now();
    }
    sentStatus = page.status;
    if (page.hasEnded) return;
    const hasMore = page.events.some(({ type }) => type === 'checkpoint');
    if (pollMs === undefined ? !hasMore : performance.now() - startedAt > MAX_STREAM_MS) return;
    if (pollMs !== undefined && !hasMore) await delay(pollMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      page = await load(page.cursor);
    } catch (error) {
      // For example, the run was deleted. The reader connects again and gets the error as a response.
      const { code, detail } = toProblem(error);
      yield message({ event: 'problem', data: { code, detail } });
      return;
    }
  }
}

/** The messages of a page. The last one has the cursor of the page, so that a reader resumes after its output too. */
function formatPage({ events, cursor, status, hasEnded }: RunEventsPage, sentStatus: string | undefined): string {
  const messages = events.map((event) =>
    message({ event: event.type, data: event, id: 'id' in event ? event.id : undefined }),
  );
  if (status !== sentStatus || hasEnded || messages.length > 0)
    messages.push(message({ event: hasEnded ? 'end' : 'status', data: { status }, id: cursor }));
  return messages.join('');
}

const message = ({ event, data, id }: { event: string; data: unknown; id?: string | undefined }): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
