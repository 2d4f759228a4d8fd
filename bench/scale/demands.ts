import { DEFAULTS } from '../../infra/resolved-props.ts';
import { DUE_SHARDS } from '../../lambda/checkpoints/format/records.ts';
import { type Ledger, most, sum } from './ledger.ts';
import { MIX, TENANTS } from './mix.ts';
import { type Part, type Simulated, together } from './simulate.ts';
import { fullestDueGroup } from './spread.ts';

/** Something that there is only so much of a second, and what a run of the mix takes of it. */
export interface Demand {
  readonly what: string;
  /** How much there is, in a second. */
  readonly most: number;
  readonly perRun: number;
}

/** What a step does beside being saved: a call of a model or a tool. An assumption, not a measurement. */
const STEP_SECONDS = 2;

/** What AWS gives at most in a second; docs/reference/scale.md says where each is from. */
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

/** What a run of the mix takes of all that is limited, in the order in which the limits are met. */
export function demandsOf(simulated: Simulated): readonly Demand[] {
  const { runs, work, sweeps } = simulated;
  const all = together(work, sweeps.expiry, sweeps.freeing);
  const demands = [...ofTable(all.ledger), ...ofIndexes(all.ledger), ...ofSweepers(simulated), ...ofOthers(all)].map(
    ({ what, most, taken }) => ({ what, most, perRun: taken / runs }),
  );
  const steps = MIX.reduce((sum, kind) => sum + (kind.steps * kind.share) / 100, 0);
  const functions = {
    ...{ what: 'functions that run at the same time', most: MOST.concurrency },
    perRun: steps * STEP_SECONDS + work.ms / runs / 1000,
  };
  return [...demands, functions].toSorted((a, b) => a.most / a.perRun - b.most / b.perRun);
}

/** The same with what all runs took together. */
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
    { what: 'write units of the table, when it is new', most: MOST.newTableWrites, taken: written },
    { what: 'write units of the table, by quota', most: MOST.tableWrites, taken: written },
    { what: 'read units of the table, when it is new', most: MOST.newTableReads, taken: read },
    { what: `read units of the partition \`${agents}\``, most: MOST.keyReads, taken: readUnits.get(agents) ?? 0 },
  ];
}

function ofIndexes({ groupUnits }: Ledger): readonly Taken[] {
  const tenant = TENANTS.large;
  const group = (index: string, name: string): Taken => ({
    ...{ what: `write units of \`${name}\` in the index \`${index}\``, most: MOST.keyWrites },
    taken: groupUnits.get(`${index} ${name}`) ?? 0,
  });
  const alone = (status: string): Taken => ({
    ...{ what: `write units of \`…/${status}\` in the index \`status\`, if all runs are of one tenant` },
    ...{ most: MOST.keyWrites, taken: sum(groupUnits, (name) => /^status /.test(name) && name.endsWith(`/${status}`)) },
  });
  const fullest = (index: string, beginning: string): Taken =>
    group(index, most(groupUnits, (name) => name.startsWith(`${index} ${beginning}`)).key.slice(index.length + 1));
  const due = sum(groupUnits, (name) => name.startsWith('due '));
  return [
    { what: 'write units of the index `due`, when it is new', most: MOST.newTableWrites, taken: due },
    {
      ...{ what: `write units of the fullest of the ${DUE_SHARDS} groups of the index \`due\`` },
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
    { what: 'milliseconds of the sweeper, without retention', most: 1_000, taken: timers.ms },
    { what: 'milliseconds of the sweeper, with retention', most: 1_000, taken },
    { what: `milliseconds of ${DUE_SHARDS} sweepers, with retention`, most: DUE_SHARDS * 1_000, taken },
  ];
}

const ofOthers = ({ ledger, requests, events }: Part): readonly Taken[] => [
  { what: 'requests to an API, as the construct limits them', most: DEFAULTS.throttleRate, taken: requests },
  { what: 'requests to API Gateway, all APIs of the account', most: MOST.apiRequests, taken: requests },
  { what: 'events on the bus', most: MOST.events, taken: events },
  { what: 'objects put into the bucket, before S3 has split it', most: MOST.putsOfPrefix, taken: sum(ledger.objects) },
];
