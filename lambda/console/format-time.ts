const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Formats a duration in at most two units: `320 ms`, `4.2 s`, `3 min 20 s`, `2 d 4 h`. */
export function formatDuration(milliseconds: number): string {
  const ms = Math.max(0, Math.round(milliseconds));
  if (ms < SECOND) return `${ms} ms`;
  if (ms < MINUTE) return `${(Math.floor(ms / 100) / 10).toLocaleString('en')} s`;
  if (ms < HOUR) return twoUnits(ms, MINUTE, 'min', SECOND, 's');
  if (ms < DAY) return twoUnits(ms, HOUR, 'h', MINUTE, 'min');
  return twoUnits(ms, DAY, 'd', HOUR, 'h');
}

function twoUnits(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large).toLocaleString('en')} ${largeName}${rest > 0 ? ` ${rest} ${smallName}` : ''}`;
}

/** Formats a duration in one unit, where there is little room: `320 ms`, `4 s`, `2 d`. */
export function formatShortDuration(milliseconds: number): string {
  const [unit, name] = (
    [
      [DAY, 'd'],
      [HOUR, 'h'],
      [MINUTE, 'min'],
      [SECOND, 's'],
    ] as const
  ).find(([each]) => milliseconds >= each) ?? [1, 'ms'];
  return `${Math.round(milliseconds / unit).toLocaleString('en')} ${name}`;
}

/** Formats a time relative to now in one unit: `3 min ago`, `in 2 d`. */
export function formatRelativeTime(moment: number, now: number): string {
  const away = Math.abs(now - moment);
  if (away < 10 * SECOND) return 'just now';
  // Rounded, so that a second less than two days is "in 2 d". Below two days hours are precise enough to plan with.
  const [unit, name] = UNITS.find(([each, , most]) => Math.round(away / each) < most) ?? ([DAY, 'd'] as const);
  const amount = `${Math.round(away / unit).toLocaleString('en')} ${name}`;
  return moment > now ? `in ${amount}` : `${amount} ago`;
}

const UNITS = [
  [SECOND, 's', 60],
  [MINUTE, 'min', 60],
  [HOUR, 'h', 48],
] as const;

/** Formats a time to the minute in a time zone; without one in UTC, with the suffix `UTC`. */
export function formatDateTime(moment: number, timeZone?: string): string {
  return timeZone === undefined
    ? `${dateTimeFormat('UTC').format(moment)} UTC`
    : dateTimeFormat(timeZone).format(moment);
}

// Formatters are slow to create and hold memory outside the heap, so they are cached.
const formats = new Map<string, Intl.DateTimeFormat>();

function dateTimeFormat(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const made = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone });
  formats.set(timeZone, made);
  return made;
}
