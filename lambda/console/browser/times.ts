import { distance, exactly } from '../moments.ts';

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Says moments as distances from now, and exact ones in the reader's own time zone. */
export function tellTimes(within: ParentNode): void {
  for (const time of within.querySelectorAll('time')) {
    const moment = Date.parse(time.dateTime);
    if (Number.isNaN(moment)) continue;
    const exact = exactly(moment, zone);
    if ('ago' in time.dataset) {
      time.textContent = distance(moment, Date.now());
      time.title = exact;
    } else if ('at' in time.dataset) time.textContent = exact;
  }
}
