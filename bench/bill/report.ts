import { type Counts, s3Requests } from '../counts.ts';
import { NOTHING_DONE } from '../deployment.ts';
import { figure, type MarkdownCell, markdownTable, money, moneyRange, type Section } from '../markdown-table.ts';
import { listed, PRICES } from '../prices.ts';
import { OVERHEAD_BYTES } from '../stored-bytes.ts';
import { approvalCosts } from '../waking-costs.ts';
import type { Wire } from '../wire.ts';
import { HOURS, lineOf, monthOf, stepCost } from './lines.ts';
import { type PeerWork, peerCosts } from './peers.ts';
import { functionsTable, pricesTable } from './price-tables.ts';
import { type Steps, type StepUnits, stepUnits } from './steps.ts';
import { type DeploymentUnits, deploymentUnits, type Taken } from './units.ts';

/** Counts on the wire, and gives the bill: the tables of docs/reference/cost.md. */
export async function billReport(wire: Wire): Promise<readonly Section[]> {
  const steps = await stepUnits(wire);
  const units = await deploymentUnits(wire);
  const { all: bare } = await approvalCosts(wire, ['user:ann']);
  if (!bare) throw new Error('An approval was not counted.');
  return [
    { title: 'Steps', table: stepsTable(steps) },
    { title: 'Runs and approvals', table: runsTable(units, bare), sentence: inWords(units.plainRun) },
    { title: 'A month in which nothing runs', table: monthTable(units) },
    { title: 'Beside others', table: peersTable(steps, units, bare), sentence: paidFor(steps, units) },
    { title: 'A GB', table: gigabyteTable(steps) },
    { title: 'Functions', table: functionsTable() },
    { title: 'Prices', table: pricesTable() },
  ];
}

function stepsTable({ small, large, turn, update }: StepUnits): string {
  const row = (what: string, taken: Steps): MarkdownCell[] => [
    what,
    taken.counts.writeUnits / taken.steps,
    s3Requests(taken.counts) / taken.steps,
    money(stepCost(taken)),
  ];
  return markdownTable(
    ['a step', 'write units', 'S3 requests', 'a million of them'],
    [
      row('`ctx.step` with a result of 1 KB', small),
      row('a turn that adds 1.2 KB of text to its state', turn),
      row('the same by the store alone (`store.update`)', update),
      row('`ctx.step` or `ctx.tool` with a result of 20 KB, by reference', large),
    ],
  );
}

/** A GB in the table for a month, with its point-in-time recovery. */
const TABLE_GB = PRICES.dynamoGb.dollars + PRICES.recoveryGb.dollars;

/** What keeping so many bytes in the table for a week costs, a million times. */
const weekOf = (bytes: number): number => (bytes / 1000) * TABLE_GB * (168 / HOURS);

function runsTable(units: DeploymentUnits, bare: Counts): string {
  const row = (what: string, taken: Taken): MarkdownCell[] => {
    const { writeUnits, readUnits } = taken.counts;
    const { storage, lambda, messages, all, invocations } = lineOf(taken);
    return [what, writeUnits, readUnits, invocations, ...[storage, lambda, messages, all].map(money)];
  };
  const week = weekOf(units.waitingBytes);
  return markdownTable(
    [
      ...['once', 'write units', 'read units', 'invocations', 'a million: DynamoDB and S3', 'Lambda'],
      ...['API, bus, topic', 'together'],
    ],
    [
      row('a run of three steps, from start to end', units.plainRun),
      row('the same with owner, tag, timeout and retention', units.fullRun),
      row('removing that one when its retention is over', units.removal),
      row('an approval: asked, told, looked at and answered by a link, gone on', units.approval),
      row('of that, only to suspend, decide and claim', { counts: bare, done: NOTHING_DONE }),
      [
        `a week of waiting for it, with ${figure(units.waitingBytes / 1000)} KB in table and indexes`,
        ...[0, 0, 0, money(week), money(0), money(0), money(week)],
      ],
    ],
  );
}

/** The arithmetic of a line. */
function inWords(taken: Taken): string {
  const { counts, done } = taken;
  const { storage, lambda, messages, invocations } = lineOf(taken);
  return [
    `The arithmetic of the first line: ${counts.writeUnits} write units × ${listed(PRICES.writeUnit)} and`,
    `${counts.readUnits} read units × ${listed(PRICES.readUnit)} are ${money(storage)};`,
    `${invocations} invocations × ${money(lambda / invocations)} are ${money(lambda)};`,
    `${done.events} event is ${money(messages)}.`,
  ].join(' ');
}

function monthTable(units: DeploymentUnits): string {
  const month = [...monthOf(units)];
  return markdownTable(
    ['for', 'a month'],
    [...month.map(([what, cost]) => [what, money(cost)]), ['together', money(total(month))]],
  );
}

const total = (month: readonly (readonly [string, number])[]): number => month.reduce((all, [, cost]) => all + cost, 0);

/** The same work as others count it. */
const WORKS = {
  step: { operations: 1, transitions: 1, actions: 1, bytes: 1_200 },
  largeStep: { operations: 1, transitions: 1, actions: 1, bytes: 20_000 },
  run: { operations: 4, transitions: 3, actions: 4, bytes: 3_000 },
  approval: { operations: 3, transitions: 1, actions: 2, bytes: 0 },
} as const satisfies Record<string, PeerWork>;

const SYSTEMS = ['Waitstate', 'Lambda durable functions', 'Step Functions', 'Temporal Cloud'];

function peersTable({ small, large, turn }: StepUnits, units: DeploymentUnits, bare: Counts): string {
  const row = (what: string, ours: string, work: PeerWork): MarkdownCell[] => {
    const { durableFunctions: durable, stepFunctions, temporal: actions } = peerCosts(work);
    return [what, ours, money(durable), money(stepFunctions), moneyRange(...actions)];
  };
  const gigabytes = units.waitingBytes / 1000;
  const month = total([...monthOf(units)]);
  return markdownTable(
    ['a million of', ...SYSTEMS],
    [
      row('steps with 1.2 KB', moneyRange(stepCost(small), stepCost(turn)), WORKS.step),
      row('steps with 20 KB', money(stepCost(large)), WORKS.largeStep),
      row('runs of three steps', money(lineOf(units.plainRun).all), WORKS.run),
      row(
        'the same with a retention, and removed by it',
        money(lineOf(units.fullRun).all + lineOf(units.removal).all),
        WORKS.run,
      ),
      row(
        'approvals: only waiting and waking',
        money(lineOf({ counts: bare, done: { ...NOTHING_DONE, resume: 1, runs: 1 } }).all),
        WORKS.approval,
      ),
      ['approvals, with telling, link, page and inbox', money(lineOf(units.approval).all), '–', '–', '–'],
      [
        'weeks of waiting, by what is kept meanwhile',
        money(weekOf(units.waitingBytes)),
        money(gigabytes * PRICES.durableGb.dollars * (168 / HOURS)),
        money(0),
        money(gigabytes * PRICES.activeGbHour.dollars * 168),
      ],
      ['and a month in which nothing runs', money(month), money(0), money(0), money(0)],
    ],
  );
}

/** What the steps of a month must be for a deployment to be worth its month. */
function paidFor({ turn }: StepUnits, units: DeploymentUnits): string {
  const less = peerCosts(WORKS.step).durableFunctions - stepCost(turn);
  const steps = total([...monthOf(units)]) / less;
  return `The month is paid for by ${steps.toFixed(1)} million steps: so much less do they cost here than with durable functions.`;
}

/** What keeping all that the steps wrote costs a month, for each GB of their results: nothing is pruned. */
function keptGb({ counts, steps, resultBytes }: Steps): number {
  const inTable = counts.dynamoBytesWritten + steps * OVERHEAD_BYTES;
  const kept = inTable * TABLE_GB + counts.s3BytesWritten * PRICES.s3Gb.dollars;
  return kept / (steps * resultBytes);
}

function gigabyteTable({ small, large }: StepUnits): string {
  const { durableGb, activeGbHour, retainedGbHour } = PRICES;
  const written = peerCosts(WORKS.largeStep);
  // A GB is 50,000 steps of 20 KB.
  const part = 1e9 / WORKS.largeStep.bytes / 1e6;
  const ours = moneyRange(keptGb(large), keptGb(small));
  const [few, many] = written.temporal;
  return markdownTable(
    ['a GB', ...SYSTEMS],
    [
      [
        'written, in steps of 20 KB',
        money(stepCost(large) * part),
        money(written.durableFunctions * part),
        money(written.stepFunctions * part),
        moneyRange(few * part, many * part),
      ],
      [
        'kept for a month while the run is open',
        ours,
        money(durableGb.dollars),
        money(0),
        money(activeGbHour.dollars * HOURS),
      ],
      [
        'kept for a month after its end',
        ours,
        money(durableGb.dollars),
        money(0),
        money(retainedGbHour.dollars * HOURS),
      ],
    ],
  );
}
