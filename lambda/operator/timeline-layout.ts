import type { Span } from './timeline.ts';

/** The place of a span on the time axis, from 0 to 1. */
interface SpanPlace {
  readonly from: number;
  readonly width: number;
  /** Whether the span is drawn shorter than to scale. */
  readonly isFolded: boolean;
}

/** Where spans are drawn: to scale, with long waits folded. */
export interface TimelineLayout {
  /** The places of the spans, in their order. */
  readonly places: readonly SpanPlace[];
  /** The place of a moment on the axis. */
  readonly placeOf: (moment: Date) => number;
}

// Waits take days where steps take seconds. The longest waits are folded until the others are at most this share of the
// time that is drawn to scale.
const MAX_IDLE_SHARE = 1 / 2;
// All folded waits together have at most this share of the axis.
const MAX_FOLDED_SHARE = 1 / 3;

/** Places consecutive spans on an axis. `foldedWidth` is the share of the axis that a folded wait gets. */
export function layoutTimeline(spans: readonly Span[], foldedWidth: number): TimelineLayout {
  const folded = longWaits(spans);
  const each = Math.min(foldedWidth, MAX_FOLDED_SHARE / Math.max(1, folded.size));
  const toScaleMs = sumMs(spans.filter((span) => !folded.has(span)));
  const toScale = 1 - each * folded.size;
  let end = 0;
  const places = spans.map((span): SpanPlace => {
    const from = end;
    const isFolded = folded.has(span);
    const width = isFolded ? each : toScaleMs > 0 ? (durationMs(span) / toScaleMs) * toScale : toScale / spans.length;
    end = Math.min(1, from + width);
    return { from, width, isFolded };
  });
  const placeOf = (moment: Date): number => {
    const i = spans.findIndex(({ to }) => to >= moment);
    const [span, place] = [spans[i], places[i]];
    if (!span || !place) return end;
    const share = durationMs(span) === 0 ? 1 : (moment.getTime() - span.from.getTime()) / durationMs(span);
    return place.from + place.width * Math.min(1, Math.max(0, share));
  };
  return { places, placeOf };
}

/** The waits to fold. Without any other time, nothing is folded. */
function longWaits(spans: readonly Span[]): ReadonlySet<Span> {
  const waits = spans.filter(isIdle).toSorted((a, b) => durationMs(b) - durationMs(a));
  const folded = new Set<Span>();
  let idleMs = sumMs(waits);
  const activeMs = sumMs(spans) - idleMs;
  if (activeMs === 0) return folded;
  for (const wait of waits) {
    if (idleMs <= (activeMs * MAX_IDLE_SHARE) / (1 - MAX_IDLE_SHARE)) break;
    folded.add(wait);
    idleMs -= durationMs(wait);
  }
  return folded;
}

/** The length of a span, or of a part of one. */
export const durationMs = ({ from, to }: Pick<Span, 'from' | 'to'>): number => to.getTime() - from.getTime();

/** Whether nothing ran in a span. */
export const isIdle = ({ kind }: Pick<Span, 'kind'>): boolean => kind === 'waiting' || kind === 'queued';

const sumMs = (spans: readonly Span[]): number => spans.reduce((total, span) => total + durationMs(span), 0);
