import { formatFigure, type MarkdownCell, markdownTable, type Section } from '../markdown-table.ts';
import { agentsInEnvironment } from './agents-in-environment.ts';
import { AWS_LIMITS, toDemands } from './demands.ts';
import { sum } from './ledger.ts';
import { MIX } from './mix.ts';
import { measurePartition } from './one-run.ts';
import { type Simulated, type SweepUsage, simulate } from './simulate.ts';

/**
 * How many hundreds of runs are simulated. Runs of one kind all use the same, so a few are enough. Each shard of the due
 * index gets the same number of each kind.
 */
const HUNDREDS_OF_RUNS = 4;

/** The peak of a day, as a multiple of the mean. */
const PEAK_FACTOR = 4;
const DAY_SECONDS = 86_400;
const RUNS_PER_DAY = [10, 10_000, 10_000_000];

const perSecond = (runsPerDay: number): number => (runsPerDay * PEAK_FACTOR) / DAY_SECONDS;

/** Simulates the workload and returns the tables of docs/reference/scale.md. */
export async function scaleReport(): Promise<readonly Section[]> {
  const simulated = await simulate(HUNDREDS_OF_RUNS);
  return [
    { title: 'Workload', table: mixTable() },
    { title: 'Limits, in the order in which you reach them', table: limitsTable(simulated) },
    { title: 'Partitions and shards', table: shardsTable(simulated) },
    { title: 'The sweeper', table: sweeperTable(simulated) },
    { title: 'One run', table: await oneRunTable() },
    { title: 'Agents per deployment', table: agentsTable() },
  ];
}

const mixTable = (): string =>
  markdownTable(
    ['of 100 runs', 'what they do', 'steps'],
    MIX.map(({ share, name, steps }) => [String(share), name, steps]),
  );

function limitsTable(simulated: Simulated): string {
  return markdownTable(
    [
      'resource',
      'limit per second',
      'used per run',
      ...RUNS_PER_DAY.map((runsPerDay) => `${formatFigure(runsPerDay)} runs a day`),
      'reached at (runs a day)',
    ],
    toDemands(simulated).map(({ what, limitPerSecond, perRun }): MarkdownCell[] => {
      const used = RUNS_PER_DAY.map((runsPerDay) => perSecond(runsPerDay) * perRun);
      return [
        what,
        limitPerSecond,
        perRun,
        ...used.map((each) => (each > limitPerSecond ? `**${formatFigure(each)}**` : each)),
        runsPerDayAtLimit(limitPerSecond / perRun),
      ];
    }),
  );
}

/** Rounded to two significant digits, because these are estimates. */
const runsPerDayAtLimit = (runsPerSecond: number): number =>
  Number(((runsPerSecond * DAY_SECONDS) / PEAK_FACTOR).toPrecision(2));

// A new on-demand table takes 4,000 write units a second, one partition 1,000.
const FIRST_PARTITIONS = AWS_LIMITS.newTableWrites / AWS_LIMITS.keyWrites;

function shardsTable({ runs, work, sweeps }: Simulated): string {
  const writes = [work, sweeps.expiry, sweeps.freeing].reduce((all, { ledger }) => all + sum(ledger.tableUnits), 0);
  const of = (count: number) => RUNS_PER_DAY.map((runsPerDay) => (perSecond(runsPerDay) * count) / runs);
  const partitions = of(writes).map((units) => Math.max(FIRST_PARTITIONS, Math.ceil(units / AWS_LIMITS.keyWrites)));
  const perShard = of(work.resume).map((records, at) => records / (partitions[at] ?? 1));
  return markdownTable(
    ['per second at peak', ...RUNS_PER_DAY.map((runsPerDay) => `${formatFigure(runsPerDay)} runs a day`)],
    [
      ['runs', ...RUNS_PER_DAY.map(perSecond)],
      ['table partitions and stream shards, at least', ...partitions],
      ['stream records', ...of(work.streamed + sweeps.expiry.streamed + sweeps.freeing.streamed)],
      ['to `resume`, after its filter', ...of(work.resume)],
      ['to `notify`, after its filter', ...of(work.notify)],
      ['to `resume`, per shard', ...perShard],
      ['agent invocations', ...of(work.runs)],
    ],
  );
}

function sweeperTable({ sweeps }: Simulated): string {
  const row = (what: string, { dueCount, ms, ledger }: SweepUsage): MarkdownCell[] => [
    what,
    ...(['dynamodb', 's3', 'lambda'] as const).map((service) => (ledger.requests.get(service) ?? 0) / dueCount),
    ms / dueCount,
    Math.floor((dueCount * 60_000) / ms),
  ];
  return markdownTable(
    ['due', 'DynamoDB requests', 'S3 requests', 'invocations', 'sweeper time (ms, estimated)', 'per minute'],
    [
      row('a timer', sweeps.timers),
      row('a run whose retention ended', sweeps.expiry),
      row('the id of that run, a day later', sweeps.freeing),
    ],
  );
}

const oneRunTable = async (): Promise<string> =>
  markdownTable(
    ['operation', 'write units in its partition', 'per second, by units', 'per second, one at a time'],
    (await measurePartition()).map(({ what, units, byUnits, byTime }) => [what, units, byUnits, byTime]),
  );

const agentsTable = (): string =>
  markdownTable(
    ['characters in an agent name', 'agents'],
    [8, 16, 32].map((letters) => [String(letters), agentsInEnvironment(letters)]),
  );
