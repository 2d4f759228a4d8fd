import { DUE_SHARDS } from '../../lambda/checkpoints/records.ts';
import { most, sum } from './ledger.ts';
import { MIX, TENANTS } from './mix.ts';
import { type Simulated, together } from './simulate.ts';
import { evenness } from './spread.ts';

/** Something that there is only so much of a second, and what a run of the mix takes of it. */
export interface Demand {
  readonly what: string;
  /** How much there is, in a second. */
  readonly most: number;
  readonly perRun: number;
}

/** What a step does beside being saved: a call of a model or a tool. An assumption, not a measurement. */
const STEP_SECONDS = 2;

/** What AWS gives at most in a second; docs/scale.md says where each is from. */
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

/** What the construct lets through in a second unless it is told otherwise: `throttleRate`. */
export const THROTTLE_RATE = 100;

/** What a run of the mix takes of all that is limited, in the order in which the limits are met. */
export function demandsOf({ runs, work, sweeps }: Simulated): readonly Demand[] {
  const { ledger, requests, events } = together(work, sweeps.expiry, sweeps.freeing);
  const { tableUnits, groupUnits, readUnits, objects } = ledger;
  const tenant = TENANTS.large;
  const isIn = (index: string) => (group: string) => group.startsWith(`${index} `);
  const group = (name: string): Demand => ({
    what: `write units of \`${name.slice(name.indexOf(' ') + 1)}\` in the index \`${name.split(' ', 1)[0]}\``,
    most: MOST.keyWrites,
    perRun: (groupUnits.get(name) ?? 0) / runs,
  });
  const alone = (status: string): Demand => ({
    what: `write units of \`…/${status}\` in the index \`status\`, if all runs are of one tenant`,
    most: MOST.keyWrites,
    perRun: sum(groupUnits, (name) => isIn('status')(name) && name.endsWith(`/${status}`)) / runs,
  });
  const inbox = most(groupUnits, (name) => name.startsWith(`owner ${tenant}/@inbox/`)).key;
  const owner = most(groupUnits, (name) => name.startsWith(`owner ${tenant}/user`)).key;
  const steps = MIX.reduce((all, kind) => all + (kind.steps * kind.share) / 100, 0);
  const isTable = (where: string) => !/^(status|owner|due) /.test(where);
  const demands: readonly Demand[] = [
    { what: 'write units of the table, when it is new', most: MOST.newTableWrites, perRun: sum(tableUnits) / runs },
    { what: 'write units of the table, by quota', most: MOST.tableWrites, perRun: sum(tableUnits) / runs },
    {
      ...{ what: 'write units of the index `due`, when it is new', most: MOST.newTableWrites },
      perRun: sum(groupUnits, isIn('due')) / runs,
    },
    {
      ...{ what: 'write units of the fullest of the 8 groups of the index `due`', most: MOST.keyWrites },
      perRun: (sum(groupUnits, isIn('due')) / runs / 8) * evenness().due,
    },
    group(`status ${tenant}/READY`),
    alone('READY'),
    group(`status ${tenant}/SUCCEEDED`),
    alone('SUCCEEDED'),
    group(inbox),
    group(owner),
    {
      what: 'read units of the table, when it is new',
      most: MOST.newTableReads,
      perRun: sum(readUnits, isTable) / runs,
    },
    {
      ...{ what: `read units of the partition \`${tenant}/@agents\``, most: MOST.keyReads },
      perRun: (readUnits.get(`${tenant}/@agents`) ?? 0) / runs,
    },
    {
      ...{ what: 'functions that run at the same time', most: MOST.concurrency },
      perRun: steps * STEP_SECONDS + work.ms / runs / 1000,
    },
    { what: 'milliseconds of the sweeper, without retention', most: 1_000, perRun: sweeps.timers.ms / runs },
    ...[1, DUE_SHARDS].map((sweepers) => ({
      what: `milliseconds of ${sweepers === 1 ? 'the sweeper' : `${sweepers} sweepers`}, with retention`,
      most: sweepers * 1_000,
      perRun: (sweeps.timers.ms + sweeps.expiry.ms + sweeps.freeing.ms) / runs,
    })),
    { what: 'requests to an API, as the construct limits them', most: THROTTLE_RATE, perRun: requests / runs },
    { what: 'requests to API Gateway, all APIs of the account', most: MOST.apiRequests, perRun: requests / runs },
    { what: 'events on the bus', most: MOST.events, perRun: events / runs },
    {
      what: 'objects put into the bucket, before S3 has split it',
      most: MOST.putsOfPrefix,
      perRun: sum(objects) / runs,
    },
  ];
  return demands.toSorted((a, b) => a.most / a.perRun - b.most / b.perRun);
}
