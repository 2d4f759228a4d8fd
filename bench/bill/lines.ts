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
export const invocationCost = ({ memoryMB, durationMs: ms }: BilledFunction): number =>
  PRICES.invocation.dollars + (memoryMB / 1024) * (ms / 1000) * PRICES.gbSecond.dollars;

/** How often each function was invoked, assuming one stream record per batch. */
const invoked = ({
  resume,
  notify,
  runs,
  notifications: tells,
  requests,
}: Activity): readonly (readonly [BilledFunction, number])[] => [
  [FUNCTIONS.resume, resume],
  [FUNCTIONS.notify, notify],
  [FUNCTIONS.agent, runs + tells],
  [FUNCTIONS.api, requests],
];

/** The cost of something a million times, in dollars, by service. */
export interface CostLine {
  readonly storage: number;
  readonly lambda: number;
  /** API Gateway, EventBridge, SNS. */
  readonly messages: number;
  readonly total: number;
  /** Invocations for one of them. */
  readonly invocations: number;
}

/** The cost of a million times what was counted once. */
export function toCostLine({ counts, activity: done }: Usage): CostLine {
  const { apiRequest, event, message } = PRICES;
  const storage = dollars(counts) * 1e6;
  const lambda = invoked(done).reduce((all, [billed, times]) => all + times * invocationCost(billed), 0);
  const messages = done.requests * apiRequest.dollars + done.events * event.dollars + done.messages * message.dollars;
  const invocations = invoked(done).reduce((all, [, times]) => all + times, 0);
  return { storage, lambda, messages, total: storage + lambda + messages, invocations };
}

/** The cost of a million steps; a step uses storage only. */
export const stepCost = ({ counts, steps }: StepUsage): number => (dollars(counts) / steps) * 1e6;

/** The hours of a month. */
export const HOURS_PER_MONTH = 730;
const SWEEPS = (HOURS_PER_MONTH * 60) / DEFAULTS.sweepEvery.toMinutes();
const GAUGES = (HOURS_PER_MONTH * 60) / PERIOD.toMinutes();
/** Log bytes per invocation, from metrics and from Lambda itself. Assumed, not measured. */
const LOG_BYTES = 1_500;

/** The cost of a deployment in a month without runs, by item. */
export function idleMonthCosts({ sweep, gauge, metrics }: DeploymentUnits): ReadonlyMap<string, number> {
  const alarmed = alarmMetrics();
  const invocations = SWEEPS + GAUGES;
  return new Map([
    [
      `sweeper, ${formatFigure(SWEEPS)} invocations`,
      SWEEPS * (dollars(sweep.counts) + invocationCost(FUNCTIONS.sweep) / 1e6),
    ],
    [
      `gauge, ${formatFigure(GAUGES)} invocations`,
      GAUGES * (dollars(gauge.counts) + invocationCost(FUNCTIONS.gauge) / 1e6),
    ],
    [`${metrics} custom metrics that these two write`, metrics * PRICES.metric.dollars],
    [`alarms on ${alarmed} metrics`, alarmed * PRICES.alarmMetric.dollars],
    ['dashboard', PRICES.dashboard.dollars],
    ['logs', (invocations * LOG_BYTES * PRICES.logGb.dollars) / 1e9],
    ['traces', (invocations * PRICES.trace.dollars) / 1e6],
  ]);
}
