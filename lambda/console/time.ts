import { formatDateTime, formatDuration, formatRelativeTime } from './format-time.ts';
import { type Html, html } from './markup.ts';

/** The time that has passed since a start, plus `before` milliseconds. The script keeps it counting. */
export const elapsedTime = (moment: Date, now: Date, before = 0): Html =>
  html`<time datetime="${moment.toISOString()}" data-since="${before}">${formatDuration(now.getTime() - moment.getTime() + before)}</time>`;

/** A relative time, with the exact time as a tooltip. The script keeps it up to date. */
export const relativeTime = (moment: Date, now: Date): Html =>
  html`<time datetime="${moment.toISOString()}" title="${formatDateTime(moment.getTime())}" data-ago>${formatRelativeTime(moment.getTime(), now.getTime())}</time>`;

/** The exact time; the script shows it in the time zone of the reader. */
export const exactTime = (moment: Date): Html =>
  html`<time datetime="${moment.toISOString()}" data-at>${formatDateTime(moment.getTime())}</time>`;

/** A relative time followed by the exact one, for decisions and for devices without tooltips. */
export const relativeAndExactTime = (moment: Date, now: Date): Html =>
  html`${relativeTime(moment, now)} <span class="quiet">(${exactTime(moment)})</span>`;
