import type { ColdStart } from './cold-start.ts';
import { dynamoRequests } from './counts.ts';
import type { Cpu } from './cpu.ts';
import type { Embedded } from './embedded.ts';
import { type Growth, windows } from './growth.ts';
import { readRatio, worst } from './hydrate.ts';
import type { RunCosts } from './run-costs.ts';
import { type Cell, print, shown, table } from './table.ts';
import { between, lastStep } from './trace.ts';

/** The limits of DESIGN.md, in one place. Those that are counts also fail the short form. */
const LIMITS = {
  requestsPerStep: 1,
  unitsPerStep: 2,
  /** How far the units of a typical step may be from those of an early one. */
  flatness: 0.1,
  /** Of the peer's 95,715 write units for 200 turns. */
  unitsOfPeer: 0.01,
  peerUnits: 95_715,
  hydrateRequests: 2,
  hydrateS3: 9,
  hydrateRatio: 2,
  threeStepUnits: 25,
  ms100KB: 1,
  ms10MB: 5,
  startKb: 60,
  /** No budget of the design: all of our code in one file, operations and encryption included, is kept from growing. */
  oneFileKb: 95,
  importMs: 10,
  ofBareDisk: 0.5,
} as const;

interface Measured {
  readonly growths: readonly Growth[];
  readonly runs: RunCosts;
  readonly bundle: ColdStart;
  readonly cpu?: Cpu;
  readonly embedded?: Embedded;
}

interface Verdict {
  readonly budget: string;
  readonly measured: number | undefined;
  readonly limit: number;
  /** Times are reported; only counts fail a run. */
  readonly counts: boolean;
  readonly least?: boolean;
}

/** Prints each budget beside what was measured; true when every count holds. */
export function printBudgets(measured: Measured): boolean {
  const verdicts = [...measured.growths.flatMap(growthVerdicts), ...otherVerdicts(measured)].filter(
    (each) => each.measured !== undefined,
  );
  print(
    table(
      'The budgets of DESIGN.md. Counts are exact and fail the short form; times depend on the machine and are only shown.',
      ['budget', 'measured', 'limit', 'ok'],
      verdicts.map((verdict): Cell[] => [
        verdict.budget,
        verdict.measured,
        `${verdict.least ? '≥' : '≤'} ${shown(verdict.limit)}`,
        holds(verdict) ? 'ok' : 'NOT MET',
      ]),
    ),
  );
  return verdicts.every((verdict) => !verdict.counts || holds(verdict));
}

const holds = ({ measured = Number.NaN, limit, least }: Verdict): boolean =>
  least ? measured >= limit : measured <= limit;

function growthVerdicts({ work, ours, marks, hydrated }: Growth): readonly Verdict[] {
  const last = lastStep(ours);
  const all = between(ours, 1, last);
  const around = windows(ours, marks);
  const means = around.map(({ counts, steps }) => counts.writeUnits / steps);
  const medians = around.map(({ medianUnits }) => medianUnits);
  const apart = (values: readonly number[]) => Math.max(...values) / Math.min(...values) - 1;
  const count = (budget: string, value: number, limit: number): Verdict => ({
    budget: `${work.name}: ${budget}`,
    measured: value,
    limit,
    counts: true,
  });
  const peerWork = work.name === 'conversation' && last >= 200;
  return [
    count('DynamoDB requests per step', dynamoRequests(all) / (last - 1), LIMITS.requestsPerStep),
    count('write units per step, worst window', Math.max(...means), LIMITS.unitsPerStep),
    count(`units of the median step around step ${marks.join(', ')}, apart by`, apart(medians), LIMITS.flatness),
    count(
      'units of the mean step, from one of these to the next, up by',
      Math.max(...means.slice(1).map((mean, at) => mean / (means[at] ?? Number.NaN) - 1)),
      LIMITS.flatness,
    ),
    { ...count('units of the mean step, up or down, apart by', apart(means), LIMITS.flatness), counts: false },
    ...(peerWork
      ? [
          count(
            'write units of 200 turns, of those of the peer',
            between(ours, 0, 200).writeUnits / LIMITS.peerUnits,
            LIMITS.unitsOfPeer,
          ),
        ]
      : []),
    count(
      'hydrate, DynamoDB requests, worst',
      worst(hydrated, (each) => each.dynamoRequests),
      LIMITS.hydrateRequests,
    ),
    count(
      'hydrate, S3 requests, worst',
      worst(hydrated, (each) => each.s3Requests),
      LIMITS.hydrateS3,
    ),
    count('hydrate, bytes read to needed, worst', worst(hydrated, readRatio), LIMITS.hydrateRatio),
  ];
}

function otherVerdicts({ runs, bundle, cpu, embedded }: Measured): readonly Verdict[] {
  const time = (budget: string, value: number | undefined, limit: number, least = false): Verdict => ({
    budget,
    measured: value,
    limit,
    counts: false,
    least,
  });
  const count = (budget: string, value: number, limit: number): Verdict => ({
    budget,
    measured: value,
    limit,
    counts: true,
  });
  return [
    count('3-step run, write units, plain', runs.plainUnits, LIMITS.threeStepUnits),
    count('3-step run, write units, with owner and retention', runs.fullUnits, LIMITS.threeStepUnits),
    count('bundle: KB of our own code that is loaded at the start', bundle.ownStartKb, LIMITS.startKb),
    count('bundle: KB of our own code in one file', bundle.ownKb, LIMITS.oneFileKb),
    time('import: ms more than the bare client, with splitting', bundle.extraMs, LIMITS.importMs),
    time('own CPU, ms per step at 100 KB', cpu?.update100KB, LIMITS.ms100KB),
    time('own CPU, ms per step appending to 10 MB', cpu?.update10MB, LIMITS.ms10MB),
    time(
      'embedded, synced steps/s, of bare append + fdatasync',
      embedded && embedded.ours / embedded.floor,
      LIMITS.ofBareDisk,
      true,
    ),
    time(
      'embedded, synced steps/s, above the peer that syncs',
      embedded?.peer && embedded.ours,
      embedded?.peer ?? 0,
      true,
    ),
  ];
}
