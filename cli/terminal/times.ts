const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration in at most seven characters: `12ms`, `1.2s`, `3m 5s`, `2h 14m`, `3d 4h`. */
export function formatDuration(milliseconds: number): string {
  const ms = Math.max(0, Math.round(milliseconds));
  if (ms < SECOND) return `${ms}ms`;
  if (ms < 9_950) return `${Math.round(ms / 100) / 10}s`;
  // Round before choosing the unit: 59.7 s is a minute.
  const [seconds, minutes, hours] = [SECOND, MINUTE, HOUR].map((unit) => Math.round(ms / unit)) as [
    number,
    number,
    number,
  ];
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return formatTwoUnits(seconds, 60, 'm', 's');
  if (minutes < 1440) return formatTwoUnits(minutes, 60, 'h', 'm');
  return hours < 2400 ? formatTwoUnits(hours, 24, 'd', 'h') : `${Math.round(ms / DAY)}d`;
}

function formatTwoUnits(count: number, size: number, large: string, small: string): string {
  const rest = count % size;
  return `${Math.floor(count / size)}${large}${rest > 0 ? ` ${rest}${small}` : ''}`;
}

/** A time relative to now: `now`, `12s ago`, `in 3h`. */
export function formatRelativeTime(time: Date, now: number): string {
  const difference = time.getTime() - now;
  const size = Math.abs(difference);
  if (size < SECOND) return 'now';
  // Rounded: a second less than two days is two days. Hours are shown up to 48, because they help with planning.
  const [unit, name] =
    RELATIVE_UNITS.find(([each, , limit]) => Math.round(size / each) < limit) ?? ([DAY, 'd'] as const);
  const count = `${Math.round(size / unit)}${name}`;
  return difference < 0 ? `${count} ago` : `in ${count}`;
}

const RELATIVE_UNITS = [
  [SECOND, 's', 60],
  [MINUTE, 'm', 60],
  [HOUR, 'h', 48],
] as const;

/** A time to the second in the local time zone, in sortable form: `2026-03-12 10:04:12`. */
export function formatTime(time: Date): string {
  const two = (number: number) => String(number).padStart(2, '0');
  const day = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-');
  return `${day} ${[time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(':')}`;
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY };

/** Parses a duration such as `90s`, `1h30m` or `3d` into milliseconds; undefined if it is not one. */
export function tryParseDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|[smhdw]))+$/.test(text)) return undefined;
  return [...text.matchAll(/([\d.]+)(ms|[smhdw])/g)].reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (UNIT_MS[unit] ?? 0),
    0,
  );
}
