import { distance, exactly, lengthOf } from '../format-time.ts';

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Says moments as distances from now, what goes on by how long it does, and exact ones in the reader's own time zone. */
export function tellTimes(within: ParentNode): void {
  for (const time of within.querySelectorAll('time')) {
    const moment = Date.parse(time.dateTime);
    if (Number.isNaN(moment)) continue;
    const { since } = time.dataset;
    if (since !== undefined) {
      time.textContent = lengthOf(Date.now() - moment + Number(since));
      continue;
    }
    const exact = exactly(moment, zone);
    if ('ago' in time.dataset) {
      time.textContent = distance(moment, Date.now());
      time.title = exact;
    } else if ('at' in time.dataset) time.textContent = exact;
  }
}
