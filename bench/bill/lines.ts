import { dollars } from '../counts.ts';
import { MONTHLY, PRICES } from '../prices.ts';
import type { Steps } from './steps.ts';
import type { DeploymentUnits, Taken } from './units.ts';

/** A function of the deployment: the memory that the construct gives it, and how long it is taken to run. */
interface Billed {
  readonly memoryMB: number;
  /** An assumption: some requests of a few milliseconds, in a process that is warm. */
  readonly ms: number;
}

/** The functions that are billed; of an agent only what Holdpoint adds to it: claim, load, save. */
export const FUNCTIONS = {
  agent: { memoryMB: 512, ms: 100 },
  api: { memoryMB: 1024, ms: 100 },
  notify: { memoryMB: 512, ms: 100 },
  resume: { memoryMB: 512, ms: 100 },
  sweep: { memoryMB: 1769, ms: 200 },
  gauge: { memoryMB: 256, ms: 200 },
} as const satisfies Record<string, Billed>;

/** What so many invocations of a function cost. */
export const invocations = (name: keyof typeof FUNCTIONS, count: number): number => {
  const { memoryMB, ms } = FUNCTIONS[name];
  const gbSeconds = (memoryMB / 1024) * (ms / 1000);
  return (count * (PRICES.lambdaRequest + gbSeconds * PRICES.lambdaGbSecond)) / 1e6;
};

/** What something costs a million times, in dollars, by what it is for. */
export interface Line {
  readonly storage: number;
  readonly lambda: number;
  /** API Gateway, EventBridge, SNS. */
  readonly messages: number;
  readonly all: number;
}

/** A million of what was taken once. Each record of the stream that a function sees is an invocation of its own. */
export function lineOf({ counts, done }: Taken): Line {
  const storage = dollars(counts) * 1e6;
  const lambda =
    (invocations('resume', done.resume) +
      invocations('notify', done.notify) +
      invocations('agent', done.runs + done.tells) +
      invocations('api', done.requests)) *
    1e6;
  const messages = done.requests * PRICES.apiRequest + done.events * PRICES.event + done.messages * PRICES.message;
  return { storage, lambda, messages, all: storage + lambda + messages };
}

/** A million steps; they touch nothing but the storage. */
export const stepCost = ({ counts, steps }: Steps): number => (dollars(counts) / steps) * 1e6;

export const HOURS = 730;
const SWEEPS = HOURS * 60;
const GAUGES = HOURS * 12;
/** What a function writes into its log each time, by its metrics and by Lambda itself. An assumption. */
const LOG_BYTES = 1_500;
/** What the alarms of the construct look at; CloudWatch bills each metric of an alarm. */
export const ALARM_METRICS = 31;

/** What a deployment costs in a month in which nothing runs, by what it is for. */
export function monthOf({ sweep, gauge, metrics }: DeploymentUnits): ReadonlyMap<string, number> {
  return new Map([
    ['the sweeper, every minute', SWEEPS * dollars(sweep.counts) + invocations('sweep', SWEEPS)],
    ['the gauge, every five minutes', GAUGES * dollars(gauge.counts) + invocations('gauge', GAUGES)],
    [`${metrics} metrics that these two write`, metrics * MONTHLY.metric],
    [`alarms on ${ALARM_METRICS} metrics`, ALARM_METRICS * MONTHLY.alarmMetric],
    ['a dashboard', MONTHLY.dashboard],
    ['logs', ((SWEEPS + GAUGES) * LOG_BYTES * MONTHLY.logGb) / 1e9],
    ['traces', ((SWEEPS + GAUGES) * PRICES.trace) / 1e6],
  ]);
}
