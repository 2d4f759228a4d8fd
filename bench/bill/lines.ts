import { DEPLOYED } from '../../infra/handlers/handler-functions.ts';
import { PERIOD } from '../../infra/operating/measures.ts';
import { DEFAULTS } from '../../infra/resolved-props.ts';
import { dollars } from '../counts.ts';
import type { Done } from '../deployment.ts';
import { figure } from '../markdown-table.ts';
import { PRICES } from '../prices.ts';
import { alarmMetrics } from './alarm-metrics.ts';
import type { Steps } from './steps.ts';
import type { DeploymentUnits, Taken } from './units.ts';

/** A function of the deployment: the memory that the construct gives it, and how long it is taken to run. */
export interface Billed {
  readonly memoryMB: number;
  /** An assumption: some requests of a few milliseconds, in a process that is warm. */
  readonly ms: number;
}

/** The functions that are billed; of an agent only what Waitstate adds to it: claim, load, save. */
export const FUNCTIONS = {
  agent: { memoryMB: 512, ms: 100 },
  api: { memoryMB: DEPLOYED.api.memoryMB, ms: 100 },
  notify: { memoryMB: DEPLOYED.notify.memoryMB, ms: 100 },
  resume: { memoryMB: DEPLOYED.resume.memoryMB, ms: 100 },
  sweep: { memoryMB: DEPLOYED.sweep.memoryMB, ms: 200 },
  gauge: { memoryMB: DEPLOYED.gauge.memoryMB, ms: 200 },
} as const satisfies Record<string, Billed>;

/** What a million invocations of a function cost. */
export const invocation = ({ memoryMB, ms }: Billed): number =>
  PRICES.invocation.dollars + (memoryMB / 1024) * (ms / 1000) * PRICES.gbSecond.dollars;

/** How often what was done invoked each function, as if each record of the stream came alone. */
const invoked = ({ resume, notify, runs, tells, requests }: Done): readonly (readonly [Billed, number])[] => [
  [FUNCTIONS.resume, resume],
  [FUNCTIONS.notify, notify],
  [FUNCTIONS.agent, runs + tells],
  [FUNCTIONS.api, requests],
];

/** What something costs a million times, in dollars, by what it is for. */
export interface Line {
  readonly storage: number;
  readonly lambda: number;
  /** API Gateway, EventBridge, SNS. */
  readonly messages: number;
  readonly all: number;
  /** How many functions are invoked for it, once. */
  readonly invocations: number;
}

/** A million of what was taken once. */
export function lineOf({ counts, done }: Taken): Line {
  const { apiRequest, event, message } = PRICES;
  const storage = dollars(counts) * 1e6;
  const lambda = invoked(done).reduce((all, [billed, times]) => all + times * invocation(billed), 0);
  const messages = done.requests * apiRequest.dollars + done.events * event.dollars + done.messages * message.dollars;
  const invocations = invoked(done).reduce((all, [, times]) => all + times, 0);
  return { storage, lambda, messages, all: storage + lambda + messages, invocations };
}

/** A million steps; they touch nothing but the storage. */
export const stepCost = ({ counts, steps }: Steps): number => (dollars(counts) / steps) * 1e6;

/** The hours of a month. */
export const HOURS = 730;
const SWEEPS = (HOURS * 60) / DEFAULTS.sweepEvery.toMinutes();
const GAUGES = (HOURS * 60) / PERIOD.toMinutes();
/** What a function writes into its log each time, by its metrics and by Lambda itself. An assumption. */
const LOG_BYTES = 1_500;

/** What a deployment costs in a month in which nothing runs, by what it is for. */
export function monthOf({ sweep, gauge, metrics }: DeploymentUnits): ReadonlyMap<string, number> {
  const alarmed = alarmMetrics();
  const invocations = SWEEPS + GAUGES;
  return new Map([
    [`the sweeper, ${figure(SWEEPS)} times`, SWEEPS * (dollars(sweep.counts) + invocation(FUNCTIONS.sweep) / 1e6)],
    [`the gauge, ${figure(GAUGES)} times`, GAUGES * (dollars(gauge.counts) + invocation(FUNCTIONS.gauge) / 1e6)],
    [`${metrics} metrics that these two write`, metrics * PRICES.metric.dollars],
    [`alarms on ${alarmed} metrics`, alarmed * PRICES.alarmMetric.dollars],
    ['a dashboard', PRICES.dashboard.dollars],
    ['logs', (invocations * LOG_BYTES * PRICES.logGb.dollars) / 1e9],
    ['traces', (invocations * PRICES.trace.dollars) / 1e6],
  ]);
}
