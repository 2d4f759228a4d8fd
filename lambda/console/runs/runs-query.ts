import { omitUndefined } from '../../core/omit-undefined.ts';
import { STATUSES, type Status } from '../../core/status.ts';
import type { RunsQuery } from '../../operator/operator.ts';

/** The filters of the list of runs, as they appear in the URL. */
export interface RunsForm {
  readonly status?: Status;
  readonly agent?: string;
  readonly owner?: string;
  readonly tag?: string;
  /** The name or the number of a step. */
  readonly step?: string;
  readonly id?: string;
  readonly period?: Period;
  /** To the minute, UTC: `2026-11-17T16:45`. */
  readonly from?: string;
  readonly to?: string;
}

/** Periods up to now, with their labels. */
export const PERIOD_LABELS = {
  '1h': 'Last hour',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
} as const;
type Period = keyof typeof PERIOD_LABELS;

const HOUR_MS = 3_600_000;
const PERIOD_MS: Readonly<Record<Period, number>> = {
  '1h': HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 168 * HOUR_MS,
  '30d': 720 * HOUR_MS,
};

const STEP_NUMBER = /^\d{1,9}$/;
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/;

/** Parses the filters in a URL; ignores invalid ones. */
export function parseRunsForm(given: URLSearchParams): RunsForm {
  const text = (name: string): string | undefined => given.get(name)?.trim().slice(0, 256) || undefined;
  const moment = (name: string): string | undefined => {
    const value = text(name) ?? '';
    return DATE_TIME.test(value) && !Number.isNaN(Date.parse(`${value}Z`)) ? value : undefined;
  };
  const period = text('period');
  return omitUndefined({
    status: STATUSES.find((status) => status === text('status')),
    agent: text('agent'),
    owner: text('owner'),
    tag: text('tag'),
    step: text('step'),
    id: text('id'),
    period: period !== undefined && Object.hasOwn(PERIOD_LABELS, period) ? (period as Period) : undefined,
    from: moment('from'),
    to: moment('to'),
  });
}

/** The query for the operator. */
export function toRunsQuery({ period, from, to, step, ...form }: RunsForm, now: Date): RunsQuery {
  const since = from ? new Date(`${from}Z`) : period && new Date(now.getTime() - PERIOD_MS[period]);
  const until = to ? new Date(`${to}Z`) : undefined;
  return { ...form, ...omitUndefined({ since, until, step: step && STEP_NUMBER.test(step) ? Number(step) : step }) };
}

/** Whether any filter is set. */
export const isFiltered = (form: RunsForm): boolean => Object.keys(form).length > 0;
