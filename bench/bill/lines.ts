import { HANDLER_SETTINGS } from '../../infra/handlers/handler-functions.ts';
import { PERIOD } from '../../infra/operating/metrics.ts';
import { DEFAULTS } from '../../infra/resolved-props.ts';
import { dollars } from '../counts.ts';
import type { Activity } from '../deployment.ts';
import { formatFigure } from '../markdown-table.ts';
import { PRICES } from '../prices.ts';
import { alarmMetrics } from './alarm-metrics.ts';
import type { StepUsage } from './steps.ts';
import type { DeploymentUnits, Usage } from './units.ts';

/** A function of the deployment: the memory that the construct gives it, and its assumed duration. */
export interface BilledFunction {
  readonly memoryMB: number;
  /** Assumed, not measured: a few requests of some milliseconds each, in a warm process. */
  readonly durationMs: number;
}

/** The billed functions. For an agent, only the time that Waitstate adds: claim, load, save. */
export const FUNCTIONS = {
  agent: { memoryMB: 512, durationMs: 100 },
  api: { memoryMB: HANDLER_SETTINGS.api.memoryMB, durationMs: 100 },
  notify: { memoryMB: HANDLER_SETTINGS.notify.memoryMB, durationMs: 100 },
  resume: { memoryMB: HANDLER_SETTINGS.resume.memoryMB, durationMs: 100 },
  sweep: { memoryMB: HANDLER_SETTINGS.sweep.memoryMB, durationMs: 200 },
  gauge: { memoryMB: HANDLER_SETTINGS.gauge.memoryMB, durationMs: 200 },
} as const satisfies Record<string, BilledFunction>;

/** The cost of a million invocations of a function. */
export const invocationCost = ({ memoryMB, durationMs }: BilledFunction): number =>
  PRICES.invocation.dollars + (memoryMB / 1024) * (durationMs / 1000) * PRICES.gbSecond.dollars;

/** How often each function was invocationsByFunction, assuming one stream record per batch. */
const invocationsByFunction = ({
  resume,
  notify,
  runs,
  notifications,
  requests,
}: Activity): readonly (readonly [BilledFunction, number])[] => [
  [FUNCTIONS.resume, resume],
  [FUNCTIONS.notify, notify],
  [FUNCTIONS.agent, runs + notifications],
  [FUNCTIONS.api, requests],
];

/** The cost of something a million times, in dollars, by service. */
export interface CostLine {
  readonly storage: number;
  readonly lambda: number;
  /** API Gateway, EventBridge, SNS. */
  readonly messages: number;
  readonly total: number;
  /** How many invocations it takes once. */
  readonly invocations: number;
}

/** The cost of a million times what was counted once. */
export function toCostLine({ counts, activity }: Usage): CostLine {
  const { apiRequest, event, message } = PRICES;
  const storage = dollars(counts) * 1e6;
  const lambda = invocationsByFunction(activity).reduce(
    (all, [billed, times]) => all + times * invocationCost(billed),
    0,
  );
  const messages =
    activity.requests * apiRequest.dollars + activity.events * event.dollars + activity.messages * message.dollars;
  const invocations = invocationsByFunction(activity).reduce((all, [, times]) => all + times, 0);
  return { storage, lambda, messages, total: storage + lambda + messages, invocations };
}

/** The cost of a million steps; a step uses storage only. */
export const stepCost = ({ counts, steps }: StepUsage): number => (dollars(counts) / steps) * 1e6;

/** The hours of a month. */
export const HOURS_PER_MONTH = 730;
const SWEEPS_PER_MONTH = (HOURS_PER_MONTH * 60) / DEFAULTS.sweepEvery.toMinutes();
const GAUGES_PER_MONTH = (HOURS_PER_MONTH * 60) / PERIOD.toMinutes();
/** Log bytes per invocation, from metrics and from Lambda itself. Assumed, not measured. */
const LOG_BYTES_PER_INVOCATION = 1_500;

/** The cost of a deployment in a month without runs, by item. */
export function idleMonthCosts({ sweep, gauge, metrics }: DeploymentUnits): ReadonlyMap<string, number> {
  const alarmMetricCount = alarmMetrics();
  const invocations = SWEEPS_PER_MONTH + GAUGES_PER_MONTH;
  return new Map([
    [
      `sweeper, ${formatFigure(SWEEPS_PER_MONTH)} invocations`,
      SWEEPS_PER_MONTH * (dollars(sweep.counts) + invocationCost(FUNCTIONS.sweep) / 1e6),
    ],
    [
      `gauge, ${formatFigure(GAUGES_PER_MONTH)} invocations`,
      GAUGES_PER_MONTH * (dollars(gauge.counts) + invocationCost(FUNCTIONS.gauge) / 1e6),
    ],
    [`${metrics} custom metrics that these two write`, metrics * PRICES.metric.dollars],
    [`alarms on ${alarmMetricCount} metrics`, alarmMetricCount * PRICES.alarmMetric.dollars],
    ['dashboard', PRICES.dashboard.dollars],
    ['logs', (invocations * LOG_BYTES_PER_INVOCATION * PRICES.logGb.dollars) / 1e9],
  ]);
}
