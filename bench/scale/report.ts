import { figure, type MarkdownCell, markdownTable, type Section } from '../markdown-table.ts';
import { agentsInEnvironment } from './agents-in-environment.ts';
import { demandsOf, MOST } from './demands.ts';
import { sum } from './ledger.ts';
import { MIX } from './mix.ts';
import { onePartition } from './one-run.ts';
import { type Looks, type Simulated, simulate } from './simulate.ts';

/**
 * How many hundreds of runs are simulated. All of one kind take the same, so that few will do; of each kind there are as
 * many in every group of the due list.
 */
const HUNDREDS = 4;

/** How much more than on the mean there is to do at the busiest time of a day. */
const PEAK = 4;
const DAY_SECONDS = 86_400;
const LEVELS = [10, 10_000, 10_000_000];

const perSecond = (runsPerDay: number): number => (runsPerDay * PEAK) / DAY_SECONDS;

/** Simulates, and says what it came to: the tables of docs/reference/scale.md. */
export async function scaleReport(): Promise<readonly Section[]> {
  const simulated = await simulate(HUNDREDS);
  return [
    { title: 'The mix', table: mixTable() },
    { title: 'Limits, in the order in which they are met', table: limitsTable(simulated) },
    { title: 'Partitions and shards', table: shardsTable(simulated) },
    { title: 'What the sweeper does', table: sweeperTable(simulated) },
    { title: 'One run', table: await oneRunTable() },
    { title: 'Agents in WAITSTATE_AGENTS', table: agentsTable() },
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
      ...['what', 'most, a second', 'a run takes'],
      ...LEVELS.map((level) => `${figure(level)} a day`),
      'met at so many runs a day',
    ],
    demandsOf(simulated).map(({ what, most, perRun }): MarkdownCell[] => {
      const used = LEVELS.map((level) => perSecond(level) * perRun);
      return [
        what,
        most,
        perRun,
        ...used.map((each) => (each > most ? `**${figure(each)}**` : each)),
        metAt(most / perRun),
      ];
    }),
  );
}

/** Two digits: a limit is not met to the run. */
const metAt = (runsPerSecond: number): number => Number(((runsPerSecond * DAY_SECONDS) / PEAK).toPrecision(2));

// A new table on demand takes 4,000 write units a second, and one partition 1,000.
const FIRST_PARTITIONS = MOST.newTableWrites / MOST.keyWrites;

function shardsTable({ runs, work, sweeps }: Simulated): string {
  const writes = [work, sweeps.expiry, sweeps.freeing].reduce((all, { ledger }) => all + sum(ledger.tableUnits), 0);
  const of = (count: number) => LEVELS.map((level) => (perSecond(level) * count) / runs);
  const partitions = of(writes).map((units) => Math.max(FIRST_PARTITIONS, Math.ceil(units / MOST.keyWrites)));
  const perShard = of(work.resume).map((records, at) => records / (partitions[at] ?? 1));
  return markdownTable(
    ['a second, at the busiest time', ...LEVELS.map((level) => `${figure(level)} a day`)],
    [
      ['runs', ...LEVELS.map(perSecond)],
      ['partitions of the table, and so shards of its stream, at least', ...partitions],
      ['records in the stream', ...of(work.streamed + sweeps.expiry.streamed + sweeps.freeing.streamed)],
      ['of them to `resume`, after its filter', ...of(work.resume)],
      ['of them to `notify`, after its filter', ...of(work.notify)],
      ['to `resume`, by shard', ...perShard],
      ['invocations of agents', ...of(work.runs)],
    ],
  );
}

function sweeperTable({ sweeps }: Simulated): string {
  const row = (what: string, { looks, ms, ledger }: Looks): MarkdownCell[] => [
    what,
    ...(['dynamodb', 's3', 'lambda'] as const).map((service) => (ledger.requests.get(service) ?? 0) / looks),
    ms / looks,
    Math.floor((looks * 60_000) / ms),
  ];
  return markdownTable(
    ['what is due', 'DynamoDB requests', 'S3', 'Lambda', 'ms of the sweeper, estimated', 'so many in a minute'],
    [
      row('a timer', sweeps.timers),
      row('a run whose retention is over', sweeps.expiry),
      row('its id, a day later', sweeps.freeing),
    ],
  );
}

const oneRunTable = async (): Promise<string> =>
  markdownTable(
    ['what happens to one run', 'write units of its partition', 'a second, by units', 'a second, one after the other'],
    (await onePartition()).map(({ what, units, byUnits, byTime }) => [what, units, byUnits, byTime]),
  );

const agentsTable = (): string =>
  markdownTable(
    ['letters in the name of an agent', 'agents'],
    [8, 16, 32].map((letters) => [String(letters), agentsInEnvironment(letters)]),
  );
