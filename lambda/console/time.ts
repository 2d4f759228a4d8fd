import { formatDateTime, formatDuration, formatRelativeTime } from './format-time.ts';
import { type Html, html } from './markup.ts';

/** How long something goes on that began at a moment, with what went on before it. The script counts on. */
export const elapsedTime = (moment: Date, now: Date, before = 0): Html =>
  html`<time datetime="${moment.toISOString()}" data-since="${before}">${formatDuration(now.getTime() - moment.getTime() + before)}</time>`;

/** A moment as its distance from now, with the exact one for those who point at it. The script keeps it fresh. */
export const relativeTime = (moment: Date, now: Date): Html =>
  html`<time datetime="${moment.toISOString()}" title="${formatDateTime(moment.getTime())}" data-ago>${formatRelativeTime(moment.getTime(), now.getTime())}</time>`;

/** The exact moment; the script says it in the reader's own time zone. */
export const exactTime = (moment: Date): Html =>
  html`<time datetime="${moment.toISOString()}" data-at>${formatDateTime(moment.getTime())}</time>`;

/** Both, for those who must rely on it and cannot point. */
export const relativeAndExactTime = (moment: Date, now: Date): Html =>
  html`${relativeTime(moment, now)} <span class="quiet">(${exactTime(moment)})</span>`;
