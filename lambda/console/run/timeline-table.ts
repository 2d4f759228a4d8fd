import type { ChildRun } from '../../operator/operator.ts';
import type { Span, SpanPart } from '../../operator/timeline.ts';
import { durationMs, isIdle } from '../../operator/timeline-layout.ts';
import { SPAN_KIND_WORDS } from '../../operator/timeline-page.ts';
import { writeCost } from '../../operator/write-cost.ts';
import { formatBytes } from '../document/format-bytes.ts';
import { pluralize } from '../document/show-options.ts';
import { formatDuration } from '../format-time.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { PATHS } from '../paths.ts';
import { userText } from '../text.ts';
import { elapsedTime, relativeTime } from '../time.ts';
import { durationClass } from './duration-class.ts';

/** What the rows of a timeline need to know about the run. */
export interface RowContext {
  readonly run: string;
  readonly children: readonly ChildRun[];
  readonly now: Date;
}

/** The longest time, in milliseconds, that the run was busy in one span: the full width of a bar in the table. */
export const longestBusyMs = (spans: readonly Span[]): number =>
  Math.max(0, ...spans.filter((span) => !isIdle(span)).flatMap((span) => (span.parts ?? [span]).map(durationMs)));

/** The classes of the table; the script copies them, since a longer span changes the scale of every bar. */
export const timelineTableClass = (longest: number): string => `list timeline ${durationClass(longest)}`;

const COLUMNS = [
  ['Version', 'number'],
  ['Activity', ''],
  ['Chart', ''],
  ['Duration', 'number'],
  ['Ended', ''],
  ['Size', 'number'],
] as const;

/** The table of spans, oldest first; the last rows are the current ones. */
export function timelineTable(spans: readonly Span[], context: RowContext): Html {
  return html`<table class="${timelineTableClass(longestBusyMs(spans))}" data-scale role="table"><caption class="unseen">Checkpoints, oldest first</caption>
<thead role="rowgroup"><tr role="row">${COLUMNS.map(([name, kind]) => html`<th role="columnheader" scope="col"${kind && html` class="${kind}"`}>${name}</th>`)}</tr></thead>
<tbody role="rowgroup" data-list="timeline">${endedRows(spans, context)}</tbody>
<tbody role="rowgroup">${currentRows(spans)}</tbody></table>`;
}

/** The rows of the spans that checkpoints ended: one for each, or one for each operation that ran side by side. */
export function endedRows(spans: readonly Span[], context: RowContext): readonly Html[] {
  const counts = new Map<number, number>();
  return spans.flatMap((span) => {
    const { checkpoint } = span;
    if (!checkpoint) return [];
    return (span.parts ?? [span]).map((part) => {
      const count = counts.get(checkpoint.version) ?? 0;
      counts.set(checkpoint.version, count + 1);
      return endedRow(span, part, checkpoint, count, context);
    });
  });
}

function endedRow(
  span: Span,
  part: Span | SpanPart,
  checkpoint: NonNullable<Span['checkpoint']>,
  count: number,
  context: RowContext,
): Html {
  const { version, bytes, savedAt } = checkpoint;
  const { writeUnits, puts } = writeCost(checkpoint);
  const cost = `about ${pluralize(writeUnits, 'write unit')}${puts > 0 ? ` and ${pluralize(puts, 'put')}` : ''}`;
  const isMoment = part.kind === 'change';
  return html`<tr role="row" id="v${version}${count > 0 && `-${count}`}" data-key="version:${version}${count > 0 && `-${count}`}">
<td role="cell" class="number version" data-label="Version">${version}</td>
<th role="rowheader" scope="row"><a href="${PATHS.checkpoint(context.run, version)}">${userText(part.label)}</a>${rowTags(span, part, context)}</th>
<td role="cell" class="picture-cell">${bar(part)}</td>
<td role="cell" class="number nowrap${isMoment && ' bare'}" data-label="Duration">${!isMoment && formatDuration(durationMs(part))}</td>
<td role="cell" class="nowrap" data-label="Ended">${relativeTime(savedAt, context.now)}</td>
<td role="cell" class="number nowrap${count > 0 && ' bare'}" data-label="Size" title="${cost}">${count === 0 && formatBytes(bytes)}</td>
</tr>`;
}

/** What else a row says: the kind of its span, the child run that it waited for, the name of its checkpoint. */
function rowTags({ checkpoint, kind, label }: Span, part: Span | SpanPart, { run, children }: RowContext): HtmlValue {
  const words = checkpoint?.version === 1 ? undefined : TAGS[part.kind];
  const called = kind === 'waiting' ? children.filter(({ name }) => label.includes(`child run ${name}`)) : [];
  const { name, pruned, restored, version = 0 } = checkpoint ?? {};
  return [
    words !== undefined && !part.label.startsWith(words) && html` <span class="tag">${words}</span>`,
    ...called
      .slice(0, 3)
      .map((child) => html` <a class="id" href="${PATHS.run(child.run)}">${userText(child.run)}</a>`),
    kind === 'change' &&
      restored !== undefined &&
      restored < version &&
      html` <span class="quiet">to <a href="${PATHS.checkpoint(run, restored)}">checkpoint ${restored}</a></span>`,
    name !== undefined && html` <span class="tag">${userText(name)}</span>`,
    pruned === true && html` <span class="tag">pruned</span>`,
  ];
}

/** What the label of a span of this kind does not say. */
const TAGS: { readonly [K in Span['kind']]?: string } = {
  failure: 'failed attempt',
  waiting: 'waiting',
  change: 'external change',
};

/** The rows of the current spans; hidden once the run has ended. A run that an event woke waited, and is queued. */
export function currentRows(spans: readonly Span[]): readonly Html[] {
  const current = spans.filter(({ checkpoint }) => checkpoint === undefined);
  return [currentRow('woken', current.length > 1 ? current[0] : undefined), currentRow('now', current.at(-1))];
}

function currentRow(key: 'now' | 'woken', span: Span | undefined): Html {
  if (!span) return html`<tr data-key="${key}" data-quiet hidden></tr>`;
  const isNow = key === 'now';
  return html`<tr role="row" id="${key}" data-key="${key}" data-quiet>
<td role="cell" class="number bare"></td>
<th role="rowheader" scope="row">${userText(span.label)} <span class="tag">${isNow ? 'now' : SPAN_KIND_WORDS[span.kind]}</span></th>
<td role="cell" class="picture-cell">${bar(span)}</td>
<td role="cell" class="number nowrap" data-label="${isNow ? 'So far' : 'Duration'}">${isNow ? elapsedTime(span.from, span.to) : formatDuration(durationMs(span))}</td>
<td role="cell" class="bare"></td><td role="cell" class="bare"></td>
</tr>`;
}

const bar = (span: Pick<Span, 'kind' | 'from' | 'to'>): Html =>
  html`<span class="track" aria-hidden="true"><span class="${span.kind} ${durationClass(durationMs(span))}"><i></i></span></span>`;
