import { type RunEvent, updateOutput } from '../../client/run-event.ts';

const STREAMED = ['checkpoint', 'event', 'output', 'status', 'end'] as const;

/**
 * Follows the run of a page by one connection: calls `onNews` when something is recorded, and shows the output of running
 * steps. A hidden tab holds no connection. Pages without `data-events` are only polled.
 */
export function followRun(onNews: () => void): void {
  const main = document.getElementById('main');
  let url = main?.dataset.events;
  if (url === undefined) return;
  let source: EventSource | undefined;
  let output = {};
  const close = () => {
    source?.close();
    source = undefined;
  };
  const receive = (type: (typeof STREAMED)[number], { data, lastEventId }: MessageEvent<string>) => {
    const event = { ...JSON.parse(data), id: lastEventId, type } as RunEvent;
    // A tab that was hidden continues here.
    if (url !== undefined && lastEventId !== '') url = withCursor(url, lastEventId);
    const next = updateOutput(output, event);
    if (next !== output) showOutput(next);
    output = next;
    if (type !== 'output') onNews();
    if (type !== 'end') return;
    close();
    url = undefined;
  };
  const open = () => {
    if (source || document.hidden || url === undefined) return;
    source = new EventSource(url);
    for (const type of STREAMED) source.addEventListener(type, (message) => receive(type, message));
  };
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  open();
}

function withCursor(url: string, after: string): string {
  const next = new URL(url, location.href);
  next.searchParams.set('after', after);
  return next.href;
}

/** Shows the output of each running step; the texts of an agent are only ever text. */
function showOutput(output: Readonly<Record<string, readonly unknown[]>>): void {
  const panel = document.getElementById('live-output');
  if (!panel) return;
  const steps = Object.entries(output);
  panel.hidden = steps.length === 0;
  const parts = steps.map(([step, values]) => {
    const name = document.createElement('h3');
    name.textContent = step;
    const text = document.createElement('pre');
    text.dir = 'auto';
    text.textContent = values
      .map((value) => (typeof value === 'string' ? value : `\n${JSON.stringify(value)}\n`))
      .join('');
    return [name, text];
  });
  panel.querySelector('div')?.replaceChildren(...parts.flat());
}
