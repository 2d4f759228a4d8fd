import { distance, exactly, lengthOf } from './format-time.ts';
import { type Html, html } from './markup.ts';

/** How long something goes on that began at a moment, with what went on before it. The script counts on. */
export const since = (moment: Date, now: Date, before = 0): Html =>
  html`<time datetime="${moment.toISOString()}" data-since="${before}">${lengthOf(now.getTime() - moment.getTime() + before)}</time>`;

/** A moment as its distance from now, with the exact one for those who point at it. The script keeps it fresh. */
export const ago = (moment: Date, now: Date): Html =>
  html`<time datetime="${moment.toISOString()}" title="${exactly(moment.getTime())}" data-ago>${distance(moment.getTime(), now.getTime())}</time>`;

/** The exact moment; the script says it in the reader's own time zone. */
export const at = (moment: Date): Html =>
  html`<time datetime="${moment.toISOString()}" data-at>${exactly(moment.getTime())}</time>`;

/** Both, for those who must rely on it and cannot point. */
export const agoAndAt = (moment: Date, now: Date): Html =>
  html`${ago(moment, now)} <span class="quiet">(${at(moment)})</span>`;
