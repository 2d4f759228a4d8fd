import { formatDateTime, formatDuration, formatRelativeTime } from '../format-time.ts';

const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Updates relative and elapsed times, and shows exact times in the time zone of the reader, with UTC as a tooltip. */
export function updateTimes(within: ParentNode): void {
  for (const time of within.querySelectorAll('time')) {
    const moment = Date.parse(time.dateTime);
    if (Number.isNaN(moment)) continue;
    const { since } = time.dataset;
    if (since !== undefined) {
      time.textContent = formatDuration(Date.now() - moment + Number(since));
      continue;
    }
    const exact = formatDateTime(moment, timeZone);
    const utc = formatDateTime(moment);
    if ('ago' in time.dataset) {
      time.textContent = formatRelativeTime(moment, Date.now());
      time.title = `${exact}\n${utc}`;
    } else if ('at' in time.dataset) {
      time.textContent = exact;
      time.title = utc;
    }
  }
}
