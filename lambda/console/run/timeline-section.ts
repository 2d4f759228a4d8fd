import type { RunView } from '../../operator/operator.ts';
import type { SpanKind } from '../../operator/timeline.ts';
import { durationMs } from '../../operator/timeline-layout.ts';
import { SPAN_KIND_WORDS, type TimelinePage } from '../../operator/timeline-page.ts';
import { pluralize } from '../document/show-options.ts';
import { formatDuration } from '../format-time.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { PATHS, queryString } from '../paths.ts';
import { userText } from '../text.ts';
import { elapsedTime } from '../time.ts';
import { timelineStrip } from './timeline-strip.ts';
import { timelineTable } from './timeline-table.ts';

/** Checkpoints per page. */
export const PAGE_SIZE = 50;

/** The timeline of a run: a picture, the total times and a table; or what a search found. */
export function timelineSection(run: RunView, timeline: TimelinePage, find: string | undefined, now: Date): Html {
  const context = { run: run.run, children: run.children, now };
  return html`<section class="card sheet" aria-labelledby="timeline"><header class="sheet-head"><h2 id="timeline">Timeline</h2>
${(run.version > PAGE_SIZE || find !== undefined) && searchForm(run.run, find)}</header>
${
  find === undefined
    ? html`${timelineStrip(run.run, timeline)}
${legend(timeline)}
${timelineTable(timeline.spans, context)}
${pagination(run, timeline)}`
    : html`${searchSummary(run.run, timeline, find)}
${timeline.spans.length > 0 && timelineTable(timeline.spans, context)}`
}
</section>`;
}

const searchForm = (run: string, find: string | undefined): Html =>
  html`<form method="get" action="${PATHS.run(run)}" role="search" aria-label="Timeline" class="line"><label class="unseen" for="find">Find in the timeline</label><input id="find" name="find" type="search" value="${find ?? ''}" placeholder="Step, crash, failed, …" maxlength="200" autocomplete="off" autocapitalize="off" spellcheck="false"><button>Find</button></form>`;

function searchSummary(run: string, { spans, first, last, next }: TimelinePage, find: string): Html {
  const found = spans.length === 0 ? 'Nothing found' : `Found ${pluralize(spans.length, 'entry', 'entries')}`;
  return html`<p class="line strip-box"><span>${found} for <strong>${userText(find)}</strong> in checkpoints ${first.toLocaleString('en')} to ${last.toLocaleString('en')}.</span>
${next !== undefined && html`<a class="button" href="${PATHS.run(run)}${queryString({ find, to: next })}">Search older</a>`}<a class="button" href="${PATHS.run(run)}">Clear</a></p>`;
}

const KIND_ORDER = Object.keys(SPAN_KIND_WORDS) as readonly SpanKind[];

/** The total time of each kind; the script keeps that of the current span counting. */
export function legend({ spans, totals, crashes, failures, isWhole, first, last }: TimelinePage): Html {
  const current = spans.findLast(({ checkpoint }) => checkpoint === undefined);
  const length = (kinds: readonly SpanKind[]): HtmlValue => {
    const all = kinds.reduce((sum, kind) => sum + totals[kind], 0);
    if (!current || !kinds.includes(current.kind)) return formatDuration(all);
    return elapsedTime(current.from, current.to, all - durationMs(current));
  };
  const words = (kind: SpanKind): string => {
    if (kind === 'failure' && failures > 0) return pluralize(failures, 'failed attempt');
    return kind === 'crash' ? pluralize(crashes, 'crash', 'crashes') : SPAN_KIND_WORDS[kind];
  };
  const isShown = (kind: SpanKind): boolean =>
    totals[kind] > 0 || (kind === 'failure' && failures > 0) || (kind === 'crash' && crashes > 0);
  const items = KIND_ORDER.filter((kind) => kind !== 'change' && isShown(kind)).map(
    (kind) =>
      html`<li><span class="swatch ${kind}"></span>${words(kind)} <span class="quiet">${length([kind])}</span></li>`,
  );
  const range = isWhole ? 'Total' : `Checkpoints ${first} to ${last}`;
  return html`<div class="legend-box" data-key="legend" data-quiet><ul class="legend"><li class="quiet"><span>${range}: ${length(KIND_ORDER)}</span></li>${items}</ul></div>`;
}

/** Links to older and newer checkpoints of a long run. */
function pagination({ run, version }: RunView, { first, last }: TimelinePage): Html | false {
  if (first <= 1 && last >= version) return false;
  return html`<nav class="pages" aria-label="Pages of checkpoints">
${first > 1 && html`<a class="button" href="${PATHS.run(run)}${queryString({ to: first - 1 })}">Older</a>`}
${last < version && html`<a class="button" href="${PATHS.run(run)}${queryString({ to: Math.min(version, last + PAGE_SIZE) })}">Newer</a><a class="button" href="${PATHS.run(run)}">Newest</a>`}
<form method="get" class="line"><label for="to">Up to checkpoint</label><input id="to" name="to" type="number" min="1" max="${version}" value="${last}"><button>Show</button></form>
</nav>`;
}
