import type { Span, SpanPart } from '../../operator/timeline.ts';
import { durationMs, isIdle, layoutTimeline } from '../../operator/timeline-layout.ts';
import { SPAN_KIND_WORDS, type TimelinePage } from '../../operator/timeline-page.ts';
import { pluralize } from '../document/show-options.ts';
import { formatDuration, formatShortDuration } from '../format-time.ts';
import { type Html, html } from '../markup.ts';
import { PATHS } from '../paths.ts';
import { plainText, userText } from '../text.ts';
import { elapsedTime } from '../time.ts';
import { placeClass } from './place-class.ts';

// The share of the width that a folded wait gets: enough for its length on a phone.
const FOLDED_WIDTH = 0.12;
const MAX_LANES = 8;

/**
 * The picture of a part of a run: its spans to scale with long waits folded, and below them the operations that ran side
 * by side. It is for the eye; the table has the same with links that a keyboard reaches.
 */
export function timelineStrip(run: string, { spans }: Pick<TimelinePage, 'spans'>): Html {
  const { places, placeOf } = layoutTimeline(spans, FOLDED_WIDTH);
  const lanes = toLanes(spans);
  const segments = spans.map((span, i) => {
    const { from, width, isFolded } = places[i] ?? { from: 0, width: 0, isFolded: false };
    return segment(run, span, placeClass(from, width), isFolded);
  });
  const lane = (parts: readonly LanePart[]) =>
    html`<div class="lane">${parts.map((part) => {
      const begin = placeOf(part.from);
      return bar(run, part, placeClass(begin, placeOf(part.to) - begin));
    })}</div>`;
  return html`<div class="strip-box" data-key="strip" data-quiet aria-hidden="true">
<div class="strip">${segments}</div>
${lanes.length > 0 && html`<div class="lanes">${lanes.slice(0, MAX_LANES).map(lane)}</div>`}
${lanes.length > MAX_LANES && html`<p class="quiet">and ${pluralize(lanes.length - MAX_LANES, 'more')} side by side</p>`}
</div>`;
}

const titleOf = ({ kind, label, from, to }: SpanPart | Span): string =>
  `${plainText(label)}: ${kind === 'change' ? SPAN_KIND_WORDS[kind] : `${SPAN_KIND_WORDS[kind]}, ${formatDuration(durationMs({ from, to }))}`}`;

function segment(run: string, span: Span, place: string, isFolded: boolean): Html {
  const { kind, checkpoint, from, to } = span;
  const length =
    isFolded &&
    html`<span><span>${formatShortDuration(durationMs(span))}</span><span>${formatDuration(durationMs(span))}</span></span>`;
  if (checkpoint)
    return html`<a class="${kind}${isFolded && ' folded'} ${place}" href="${PATHS.checkpoint(run, checkpoint.version)}" title="${titleOf(span)}" tabindex="-1">${length}</a>`;
  return html`<a class="${kind}${isFolded && ' folded'} ${place}" href="#now" title="${titleOf(span)}" tabindex="-1">${isFolded && isIdle(span) && html`<span>${elapsedTime(from, to)}</span>`}</a>`;
}

interface LanePart extends SpanPart {
  readonly version: number | undefined;
}

/** The operations that ran side by side, in as few lanes as possible; a lane has one of them at a time. */
function toLanes(spans: readonly Span[]): readonly (readonly LanePart[])[] {
  const parts = spans.flatMap((span) => (span.parts ?? []).map((part) => toLanePart(span, part)));
  const isBeside = ({ from, to }: Span) => parts.some((part) => part.from < to && part.to > from && part.to !== to);
  const others = spans.filter((span) => !span.parts && isStep(span) && isBeside(span));
  const all = [...parts, ...others.map((span) => toLanePart(span, span))];
  const lanes: LanePart[][] = [];
  for (const part of all.toSorted((a, b) => a.from.getTime() - b.from.getTime())) {
    const free = lanes.find((lane) => (lane.at(-1)?.to ?? part.from) <= part.from);
    if (free) free.push(part);
    else lanes.push([part]);
  }
  return lanes;
}

const isStep = ({ kind, checkpoint }: Span): boolean =>
  kind === 'failure' || (kind === 'step' && checkpoint?.step !== undefined);

const toLanePart = ({ checkpoint }: Span, { label, kind, from, to }: Span | SpanPart): LanePart => ({
  ...{ label, from, to, version: checkpoint?.version },
  kind: kind === 'failure' ? 'failure' : 'step',
});

const bar = (run: string, part: LanePart, place: string): Html =>
  html`<a class="${part.kind} ${place}" href="${PATHS.checkpoint(run, part.version ?? 1)}" title="${titleOf(part)}" tabindex="-1"><span>${userText(part.label)}</span></a>`;
