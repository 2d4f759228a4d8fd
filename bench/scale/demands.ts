import { DEFAULTS } from '../../infra/resolved-props.ts';
import { DUE_SHARDS } from '../../lambda/checkpoints/format/records.ts';
import { type Ledger, most, sum } from './ledger.ts';
import { MIX, TENANTS } from './mix.ts';
import { type Part, type Simulated, together } from './simulate.ts';
import { fullestDueGroup } from './spread.ts';

/** A limited resource, and how much of it a run of the workload uses. */
export interface Demand {
  readonly what: string;
  /** The limit per second. */
  readonly most: number;
  readonly perRun: number;
}

/** How long a model or tool call takes. Assumed, not measured. */
const STEP_SECONDS = 2;

/** Limits of AWS per second; docs/reference/scale.md has their sources. */
export const MOST = {
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
export function demandsOf(simulated: Simulated): readonly Demand[] {
  const { runs, work, sweeps } = simulated;
  const all = together(work, sweeps.expiry, sweeps.freeing);
  const demands = [...ofTable(all.ledger), ...ofIndexes(all.ledger), ...ofSweepers(simulated), ...ofOthers(all)].map(
    ({ what, most, taken }) => ({ what, most, perRun: taken / runs }),
  );
  const steps = MIX.reduce((sum, kind) => sum + (kind.steps * kind.share) / 100, 0);
  const functions = {
    ...{ what: 'concurrent functions', most: MOST.concurrency },
    perRun: steps * STEP_SECONDS + work.ms / runs / 1000,
  };
  return [...demands, functions].toSorted((a, b) => a.most / a.perRun - b.most / b.perRun);
}

/** The same for all runs together. */
interface Taken {
  readonly what: string;
  readonly most: number;
  readonly taken: number;
}

function ofTable({ tableUnits, readUnits }: Ledger): readonly Taken[] {
  const written = sum(tableUnits);
  const read = sum(readUnits, (where) => !/^(status|owner|due) /.test(where));
  const agents = `${TENANTS.large}/@agents`;
  return [
    { what: 'write units of a new table', most: MOST.newTableWrites, taken: written },
    { what: 'write units of a table, by quota', most: MOST.tableWrites, taken: written },
    { what: 'read units of a new table', most: MOST.newTableReads, taken: read },
    { what: `read units of partition \`${agents}\``, most: MOST.keyReads, taken: readUnits.get(agents) ?? 0 },
  ];
}

function ofIndexes({ groupUnits }: Ledger): readonly Taken[] {
  const tenant = TENANTS.large;
  const group = (index: string, name: string): Taken => ({
    ...{ what: `write units of \`${name}\` in index \`${index}\``, most: MOST.keyWrites },
    taken: groupUnits.get(`${index} ${name}`) ?? 0,
  });
  const alone = (status: string): Taken => ({
    ...{ what: `write units of \`…/${status}\` in index \`status\`, if all runs have one tenant` },
    ...{ most: MOST.keyWrites, taken: sum(groupUnits, (name) => /^status /.test(name) && name.endsWith(`/${status}`)) },
  });
  const fullest = (index: string, beginning: string): Taken =>
    group(index, most(groupUnits, (name) => name.startsWith(`${index} ${beginning}`)).key.slice(index.length + 1));
  const due = sum(groupUnits, (name) => name.startsWith('due '));
  return [
    { what: 'write units of a new index `due`', most: MOST.newTableWrites, taken: due },
    {
      ...{ what: `write units of the busiest of the ${DUE_SHARDS} shards of index \`due\`` },
      ...{ most: MOST.keyWrites, taken: (due / DUE_SHARDS) * fullestDueGroup() },
    },
    ...['READY', 'SUCCEEDED'].flatMap((status) => [group('status', `${tenant}/${status}`), alone(status)]),
    fullest('owner', `${tenant}/@inbox/`),
    fullest('owner', `${tenant}/user`),
  ];
}

function ofSweepers({ sweeps: { timers, expiry, freeing } }: Simulated): readonly Taken[] {
  const taken = timers.ms + expiry.ms + freeing.ms;
  return [
    { what: 'sweeper time (ms), without retention', most: 1_000, taken: timers.ms },
    { what: 'sweeper time (ms), with retention', most: 1_000, taken },
    { what: `time of ${DUE_SHARDS} sweepers (ms), with retention`, most: DUE_SHARDS * 1_000, taken },
  ];
}

const ofOthers = ({ ledger, requests, events }: Part): readonly Taken[] => [
  { what: 'API requests, by the default throttle of the construct', most: DEFAULTS.throttleRate, taken: requests },
  { what: 'API Gateway requests, by account quota', most: MOST.apiRequests, taken: requests },
  { what: 'EventBridge events', most: MOST.events, taken: events },
  { what: 'S3 `PUT` requests, before S3 splits the prefix', most: MOST.putsOfPrefix, taken: sum(ledger.objects) },
];
