import { invalidInput } from '../../../core/invalid-input.ts';

const LOCAL_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?Z?$/;
const MAX_OFFSET_MINUTES = 24 * 60;

/**
 * The time of a `datetime-local` field, which has no time zone. The script sends the offset of the reader's time zone at
 * that time, in minutes; without the script, or with a `Z`, the time is in UTC.
 */
export function parseLocalTime(label: string, text: string, offset: string | undefined): Date {
  const isUtc = text.endsWith('Z') || offset === undefined || !/^-?\d{1,4}$/.test(offset);
  const minutes = isUtc ? 0 : Number(offset);
  const time =
    LOCAL_TIME.test(text) && Math.abs(minutes) <= MAX_OFFSET_MINUTES
      ? Date.parse(`${text.replace(/Z$/, '')}Z`)
      : Number.NaN;
  if (Number.isNaN(time)) throw invalidInput(label, 'a date and a time, such as 2026-03-12T09:30', text);
  return new Date(time + minutes * 60_000);
}
