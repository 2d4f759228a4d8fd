import { formatDateTime, formatDuration, formatRelativeTime } from '../format-time.ts';

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Says moments as distances from now, what goes on by how long it does, and exact ones in the reader's own time zone. */
export function updateTimes(within: ParentNode): void {
  for (const time of within.querySelectorAll('time')) {
    const moment = Date.parse(time.dateTime);
    if (Number.isNaN(moment)) continue;
    const { since } = time.dataset;
    if (since !== undefined) {
      time.textContent = formatDuration(Date.now() - moment + Number(since));
      continue;
    }
    const exact = formatDateTime(moment, zone);
    if ('ago' in time.dataset) {
      time.textContent = formatRelativeTime(moment, Date.now());
      time.title = exact;
    } else if ('at' in time.dataset) time.textContent = exact;
  }
}
