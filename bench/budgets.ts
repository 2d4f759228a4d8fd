import { HANDLERS } from '../lambda/environment/names.ts';
import type { ColdStart } from './cold-start.ts';
import { dynamoRequests } from './counts.ts';
import type { Cpu } from './cpu.ts';
import type { DurableSteps } from './durable-steps.ts';
import type { FunctionStarts } from './functions.ts';
import { type Growth, windows } from './growth.ts';
import { readRatio, worst } from './hydrate.ts';
import type { RunCosts } from './run-costs.ts';
import type { RuntimeCosts } from './runtime-costs.ts';
import type { RuntimeCpu } from './runtime-cpu.ts';
import type { RuntimeSteps } from './runtime-steps.ts';
import { type Cell, formatNumber, formatTable, print } from './table.ts';
import { countsBetween, lastStep, type Trace } from './trace.ts';

/** The budgets of DESIGN.md. With `--short`, a count above its budget fails the bench. */
const LIMITS = {
  requestsPerStep: 1,
  unitsPerStep: 2,
  /** By how much the units of a late step may differ from those of an early one. */
  flatness: 0.1,
  /** As a share of the peer's 95,715 write units for 200 turns. */
  unitsOfPeer: 0.01,
  peerUnits: 95_715,
  hydrateRequests: 2,
  hydrateS3: 9,
  hydrateRatio: 2,
  threeStepUnits: 25,
  /** Suspend, decide and claim. */
  approvalUnits: 25,
  /** Resolve the token, read the head and the approval, and decide in one transaction. */
  webhookRequests: 4,
  ms100KB: 1,
  ms10MB: 5,
  startKb: 60,
  /** Not in DESIGN.md: limits the growth of all our code in one file, operations and encryption included. */
  oneFileKb: 106,
  /** Not in DESIGN.md: limits the growth of an agent on the runtime. */
  runtimeStartKb: 142,
  runtimeOneFileKb: 258,
  /** What each deployed function may load at its start, the AWS SDK included: the measured size plus 3 %. */
  functionKb: { api: 890, checkpoint: 442, gauge: 370, notify: 390, resume: 430, sweep: 448 },
  importMs: 10,
  ofBareDisk: 0.5,
  ofPeer: 1,
} as const;

interface Measured {
  readonly growths: readonly Growth[];
  readonly runs: RunCosts;
  readonly bundle: ColdStart;
  readonly functions: FunctionStarts;
  readonly runtimeSteps: RuntimeSteps;
  readonly runtimeCosts: RuntimeCosts;
  readonly cpu?: Cpu;
  readonly runtimeCpu?: RuntimeCpu;
  readonly durable?: DurableSteps;
}

interface Verdict {
  readonly budget: string;
  readonly measured: number | undefined;
  readonly limit: number;
  /** Whether a miss fails the bench. Times, and counts without a budget in DESIGN.md, are only reportOnly. */
  readonly isEnforced: boolean;
  /** Whether the limit is a lower bound. */
  readonly isMinimum?: boolean;
}

/** Prints each budget next to the measured value; true if every enforced budget is met. */
export function printBudgets(measured: Measured): boolean {
  const verdicts = [
    ...measured.growths.flatMap(growthVerdicts),
    ...runtimeVerdicts(measured),
    ...otherVerdicts(measured),
    ...timeVerdicts(measured),
  ].filter((each) => each.measured !== undefined);
  print(
    formatTable(
      'The budgets of DESIGN.md. Counts are exact and fail the bench with --short; times depend on the machine and are only reportOnly.',
      ['budget', 'measured', 'limit', 'ok'],
      verdicts.map((verdict): Cell[] => [
        verdict.budget,
        verdict.measured,
        `${verdict.isMinimum ? '≥' : '≤'} ${formatNumber(verdict.limit)}`,
        isMet(verdict) ? 'ok' : 'NOT MET',
      ]),
    ),
  );
  return verdicts.every((verdict) => !verdict.isEnforced || isMet(verdict));
}

const isMet = ({ measured = Number.NaN, limit, isMinimum }: Verdict): boolean =>
  isMinimum ? measured >= limit : measured <= limit;

const count = (budget: string, measured: number, limit: number): Verdict => ({
  budget,
  measured,
  limit,
  isEnforced: true,
});
const reportOnly = (verdict: Verdict): Verdict => ({ ...verdict, isEnforced: false });
const time = (budget: string, measured: number | undefined, limit: number, isMinimum = false): Verdict => ({
  budget,
  measured,
  limit,
  isMinimum,
  isEnforced: false,
});

/** The cost of a step, and that it does not grow with the number of steps. */
function stepVerdicts(name: string, traced: Trace, marks: readonly number[]): readonly Verdict[] {
  const last = lastStep(traced);
  const around = windows(traced, marks);
  const means = around.map(({ counts, steps }) => counts.writeUnits / steps);
  const medians = around.map(({ medianUnits }) => medianUnits);
  const spread = (values: readonly number[]) => Math.max(...values) / Math.min(...values) - 1;
  const requests = dynamoRequests(countsBetween(traced, 1, last)) / (last - 1);
  return [
    count(`${name}: DynamoDB requests per step`, requests, LIMITS.requestsPerStep),
    count(`${name}: write units per step, worst window`, Math.max(...means), LIMITS.unitsPerStep),
    count(
      `${name}: units of the median step around step ${marks.join(', ')}, spread`,
      spread(medians),
      LIMITS.flatness,
    ),
    count(
      `${name}: units of the mean step, increase from one of these to the next`,
      Math.max(...means.slice(1).map((mean, at) => mean / (means[at] ?? Number.NaN) - 1)),
      LIMITS.flatness,
    ),
    reportOnly(count(`${name}: units of the mean step, spread`, spread(means), LIMITS.flatness)),
  ];
}

function growthVerdicts({ work: { name }, ours, marks, hydrated }: Growth): readonly Verdict[] {
  const isPeerWork = name === 'conversation' && lastStep(ours) >= 200;
  return [
    ...stepVerdicts(name, ours, marks),
    ...(isPeerWork
      ? [
          count(
            `${name}: write units of 200 turns, as a share of the peer's`,
            countsBetween(ours, 0, 200).writeUnits / LIMITS.peerUnits,
            LIMITS.unitsOfPeer,
          ),
        ]
      : []),
    count(
      `${name}: hydrate, DynamoDB requests, worst`,
      worst(hydrated, (each) => each.dynamoRequests),
      LIMITS.hydrateRequests,
    ),
    count(
      `${name}: hydrate, S3 requests, worst`,
      worst(hydrated, (each) => each.s3Requests),
      LIMITS.hydrateS3,
    ),
    count(
      `${name}: hydrate, ratio of bytes read to bytes needed, worst`,
      worst(hydrated, readRatio),
      LIMITS.hydrateRatio,
    ),
  ];
}

function runtimeVerdicts({ runtimeSteps: { steps, turns, marks }, runtimeCosts }: Measured): readonly Verdict[] {
  const { threeSteps, threeStepsFull, approval, approvalOfThree, webhookRequests } = runtimeCosts;
  return [
    ...stepVerdicts('runtime, steps', steps, marks),
    ...stepVerdicts('runtime, turns', turns, marks),
    count('runtime: 3-step run, write units, plain', threeSteps, LIMITS.threeStepUnits),
    reportOnly(
      count('runtime: 3-step run, write units, with owner and retention', threeStepsFull, LIMITS.threeStepUnits),
    ),
    count('runtime: suspend + decide + claim, write units, one approver', approval, LIMITS.approvalUnits),
    reportOnly(
      count('runtime: suspend + decide + claim, write units, three approvers', approvalOfThree, LIMITS.approvalUnits),
    ),
    count('webhook: requests of POST /approvals/{token}', webhookRequests, LIMITS.webhookRequests),
  ];
}

function otherVerdicts({ runs, bundle: { store, runtime }, functions }: Measured): readonly Verdict[] {
  return [
    count('3-step run, write units, plain', runs.plainUnits, LIMITS.threeStepUnits),
    count('3-step run, write units, with owner and retention', runs.fullUnits, LIMITS.threeStepUnits),
    count('bundle: KB of our own code loaded at start', store.ownStartKb, LIMITS.startKb),
    count('bundle: KB of our own code in one file', store.ownKb, LIMITS.oneFileKb),
    count('bundle: the same for an agent on the runtime, at start', runtime.ownStartKb, LIMITS.runtimeStartKb),
    count('bundle: the same for an agent on the runtime, in one file', runtime.ownKb, LIMITS.runtimeOneFileKb),
    ...HANDLERS.map((name) => count(`function ${name}: KB loaded at start`, functions[name], LIMITS.functionKb[name])),
    time('import: ms more than the bare client, with splitting', store.extraMs, LIMITS.importMs),
    time('import: the same for an agent on the runtime', runtime.extraMs, LIMITS.importMs),
  ];
}

function timeVerdicts({ cpu, runtimeCpu, durable }: Measured): readonly Verdict[] {
  return [
    time('own CPU, ms per step at 100 KB', cpu?.update100KB, LIMITS.ms100KB),
    time('own CPU, ms per step appending to 10 MB', cpu?.update10MB, LIMITS.ms10MB),
    time('own CPU of the runtime, ms per step at 100 KB', runtimeCpu?.step100KB, LIMITS.ms100KB),
    time('own CPU of the runtime, ms per step after 1,000', runtimeCpu?.step1000, LIMITS.ms100KB),
    time(
      'embedded store, synced steps/s, share of bare append + fdatasync',
      durable?.storeOfBare,
      LIMITS.ofBareDisk,
      true,
    ),
    time('embedded runtime, synced steps/s, share of the same', durable?.runtimeOfBare, LIMITS.ofBareDisk, true),
    time('embedded store, synced steps/s, ratio to the peer that syncs', durable?.storeOfPeer, LIMITS.ofPeer, true),
    time('embedded runtime, synced steps/s, ratio to the same', durable?.runtimeOfPeer, LIMITS.ofPeer, true),
  ];
}
