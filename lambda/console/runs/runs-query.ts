import { omitUndefined } from '../../core/omit-undefined.ts';
import { STATUSES, type Status } from '../../core/status.ts';
import type { RunsQuery } from '../../operator/operator.ts';

/** What the form of the runs page holds, as it stands in the URL. */
export interface RunsForm {
  readonly status?: Status;
  readonly agent?: string;
  readonly owner?: string;
  readonly tag?: string;
  readonly id?: string;
  readonly period?: Period;
  /** To the minute, UTC: `2026-11-17T16:45`. */
  readonly from?: string;
  readonly to?: string;
}

/** Stretches of time that end now. */
export const PERIOD_LABELS = {
  '1h': 'The last hour',
  '24h': 'The last 24 hours',
  '7d': 'The last 7 days',
  '30d': 'The last 30 days',
} as const;
type Period = keyof typeof PERIOD_LABELS;

const HOUR = 3_600_000;
const LENGTHS: Readonly<Record<Period, number>> = { '1h': HOUR, '24h': 24 * HOUR, '7d': 168 * HOUR, '30d': 720 * HOUR };

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/;

/** The form in a URL; what makes no sense is left out. */
export function parseRunsForm(given: URLSearchParams): RunsForm {
  const text = (name: string): string | undefined => given.get(name)?.trim().slice(0, 256) || undefined;
  const moment = (name: string): string | undefined => {
    const value = text(name) ?? '';
    return MOMENT.test(value) && !Number.isNaN(Date.parse(`${value}Z`)) ? value : undefined;
  };
  const period = text('period');
  return omitUndefined({
    status: STATUSES.find((status) => status === text('status')),
    agent: text('agent'),
    owner: text('owner'),
    tag: text('tag'),
    id: text('id'),
    period: period !== undefined && Object.hasOwn(PERIOD_LABELS, period) ? (period as Period) : undefined,
    from: moment('from'),
    to: moment('to'),
  });
}

/** What the form asks the desk for. */
export function toRunsQuery({ period, from, to, ...form }: RunsForm, now: Date): RunsQuery {
  const since = from ? new Date(`${from}Z`) : period && new Date(now.getTime() - LENGTHS[period]);
  return { ...form, ...omitUndefined({ since, until: to ? new Date(`${to}Z`) : undefined }) };
}

/** Whether anything is left out. */
export const isFiltered = (form: RunsForm): boolean => Object.keys(form).length > 0;
