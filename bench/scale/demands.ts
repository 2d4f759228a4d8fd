import { DEFAULTS } from '../../infra/resolved-props.ts';
import { DUE_SHARD_COUNT } from '../../lambda/storage/keys.ts';
import { type Ledger, largest, sum } from './ledger.ts';
import { MIX, TENANTS } from './mix.ts';
import { combine, type Simulated, type SimulatedUsage } from './simulate.ts';
import { fullestShardFactor } from './spread.ts';

/** A limited resource, and how much of it a run of the workload uses. */
export interface Demand {
  readonly what: string;
  /** The limit per second. */
  readonly limitPerSecond: number;
  readonly perRun: number;
}

/** How long a model or tool call takes. Assumed, not measured. */
const STEP_SECONDS = 2;

/** Limits of AWS per second; docs/reference/scale.md has their sources. */
export const AWS_LIMITS = {
  keyWrites: 1_000,
  keyReads: 3_000,
  newTableWrites: 4_000,
  tableWrites: 40_000,
  newTableReads: 12_000,
  concurrency: 1_000,
  putsOfPrefix: 3_500,
  apiRequests: 10_000,
  events: 10_000,
} as const;

/** What a run of the workload uses of each limited resource, in the order in which the limits are reached. */
export function toDemands(simulated: Simulated): readonly Demand[] {
  const { runs, work, sweeps } = simulated;
  const all = combine(work, sweeps.expiry, sweeps.freeing);
  const demands = [
    ...tableDemands(all.ledger),
    ...indexDemands(all.ledger),
    ...sweeperDemands(simulated),
    ...otherDemands(all),
  ].map(({ what, limitPerSecond, total }) => ({ what, limitPerSecond, perRun: total / runs }));
  const steps = MIX.reduce((sum, kind) => sum + (kind.steps * kind.share) / 100, 0);
  const functions = {
    what: 'concurrent functions',
    limitPerSecond: AWS_LIMITS.concurrency,
    perRun: steps * STEP_SECONDS + work.ms / runs / 1000,
  };
  return [...demands, functions].toSorted((a, b) => a.limitPerSecond / a.perRun - b.limitPerSecond / b.perRun);
}

/** A limited resource, and how much of it all runs of the workload use together. */
interface DemandTotal {
  readonly what: string;
  readonly limitPerSecond: number;
  readonly total: number;
}

function tableDemands({ tableUnits, readUnits }: Ledger): readonly DemandTotal[] {
  const written = sum(tableUnits);
  const read = sum(readUnits, (where) => !/^(status|owner|due) /.test(where));
  const agents = `${TENANTS.large}/@agents`;
  return [
    { what: 'write units of a new table', limitPerSecond: AWS_LIMITS.newTableWrites, total: written },
    { what: 'write units of a table, by quota', limitPerSecond: AWS_LIMITS.tableWrites, total: written },
    { what: 'read units of a new table', limitPerSecond: AWS_LIMITS.newTableReads, total: read },
    {
      what: `read units of partition \`${agents}\``,
      limitPerSecond: AWS_LIMITS.keyReads,
      total: readUnits.get(agents) ?? 0,
    },
  ];
}

function indexDemands({ groupUnits }: Ledger): readonly DemandTotal[] {
  const tenant = TENANTS.large;
  const group = (index: string, name: string): DemandTotal => ({
    what: `write units of \`${name}\` in index \`${index}\``,
    limitPerSecond: AWS_LIMITS.keyWrites,
    total: groupUnits.get(`${index} ${name}`) ?? 0,
  });
  const alone = (status: string): DemandTotal => ({
    what: `write units of \`…/${status}\` in index \`status\`, if all runs have one tenant`,
    limitPerSecond: AWS_LIMITS.keyWrites,
    total: sum(groupUnits, (name) => /^status /.test(name) && name.endsWith(`/${status}`)),
  });
  const fullest = (index: string, beginning: string): DemandTotal =>
    group(index, largest(groupUnits, (name) => name.startsWith(`${index} ${beginning}`)).key.slice(index.length + 1));
  const due = sum(groupUnits, (name) => name.startsWith('due '));
  return [
    { what: 'write units of a new index `due`', limitPerSecond: AWS_LIMITS.newTableWrites, total: due },
    {
      what: `write units of the busiest of the ${DUE_SHARD_COUNT} shards of index \`due\``,
      limitPerSecond: AWS_LIMITS.keyWrites,
      total: (due / DUE_SHARD_COUNT) * fullestShardFactor(),
    },
    ...['READY', 'SUCCEEDED'].flatMap((status) => [group('status', `${tenant}/${status}`), alone(status)]),
    fullest('owner', `${tenant}/@inbox/`),
    fullest('owner', `${tenant}/user`),
  ];
}

function sweeperDemands({ sweeps: { timers, expiry, freeing } }: Simulated): readonly DemandTotal[] {
  const total = timers.ms + expiry.ms + freeing.ms;
  return [
    { what: 'sweeper time (ms), without retention', limitPerSecond: 1_000, total: timers.ms },
    { what: 'sweeper time (ms), with retention', limitPerSecond: 1_000, total },
    {
      what: `time of ${DUE_SHARD_COUNT} sweepers (ms), with retention`,
      limitPerSecond: DUE_SHARD_COUNT * 1_000,
      total,
    },
  ];
}

const otherDemands = ({ ledger, requests, events }: SimulatedUsage): readonly DemandTotal[] => [
  {
    what: 'API requests, by the default throttle of the construct',
    limitPerSecond: DEFAULTS.throttleRate,
    total: requests,
  },
  { what: 'API Gateway requests, by account quota', limitPerSecond: AWS_LIMITS.apiRequests, total: requests },
  { what: 'EventBridge events', limitPerSecond: AWS_LIMITS.events, total: events },
  {
    what: 'S3 `PUT` requests, before S3 splits the prefix',
    limitPerSecond: AWS_LIMITS.putsOfPrefix,
    total: sum(ledger.objects),
  },
];
