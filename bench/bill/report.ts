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

/** Counts requests on the wire and returns the tables of docs/reference/cost.md. */
export async function billReport(wire: Wire): Promise<readonly Section[]> {
  const steps = await stepUnits(wire);
  const units = await deploymentUnits(wire);
  const { all: bare } = await approvalCosts(wire, ['user:ann']);
  if (!bare) throw new Error('Expected the costs of an approval; none were counted.');
  return [
    { title: 'Steps', table: stepsTable(steps) },
    { title: 'Runs and approvals', table: runsTable(units, bare), sentence: inWords(units.plainRun) },
    { title: 'Idle month', table: monthTable(units) },
    { title: 'Compared with other services', table: peersTable(steps, units, bare), sentence: paidFor(steps, units) },
    { title: 'Storage per GB', table: gigabyteTable(steps) },
    { title: 'Lambda functions', table: functionsTable() },
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
    ['step', 'write units', 'S3 requests', 'per million'],
    [
      row('`ctx.step` with a 1 KB result', small),
      row('a turn that adds 1.2 KB of text to its state', turn),
      row('the same with the store alone (`store.update`)', update),
      row('`ctx.step` or `ctx.tool` with a 20 KB result, stored in S3', large),
    ],
  );
}

/** One GB in the table for a month, with point-in-time recovery. */
const TABLE_GB = PRICES.dynamoGb.dollars + PRICES.recoveryGb.dollars;

/** The cost of keeping this many bytes in the table for a week, a million times. */
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
      ...['what', 'write units', 'read units', 'invocations', 'per million: DynamoDB and S3', 'Lambda'],
      ...['API, bus, topic', 'total'],
    ],
    [
      row('a run with three steps', units.plainRun),
      row('the same with owner, tag, timeout and retention', units.fullRun),
      row('removing that run when its retention ends', units.removal),
      row('an approval: request, notification, page view, decision by link, resume', units.approval),
      row('of that, only suspend, decide and claim', { counts: bare, done: NOTHING_DONE }),
      [
        `a week of waiting for it: ${figure(units.waitingBytes / 1000)} KB in table and indexes`,
        ...[0, 0, 0, money(week), money(0), money(0), money(week)],
      ],
    ],
  );
}

/** How the cost of a row is computed. */
function inWords(taken: Taken): string {
  const { counts, done } = taken;
  const { storage, lambda, messages, invocations } = lineOf(taken);
  return [
    `For the first row: ${counts.writeUnits} × ${listed(PRICES.writeUnit)} + ${counts.readUnits} × ${listed(PRICES.readUnit)}`,
    `= ${money(storage)} for DynamoDB, ${invocations} × ${money(lambda / invocations)} ≈ ${money(lambda)} for Lambda,`,
    `${done.events} × ${money(messages)} for EventBridge.`,
  ].join(' ');
}

function monthTable(units: DeploymentUnits): string {
  const month = [...monthOf(units)];
  return markdownTable(
    ['what', 'per month'],
    [...month.map(([what, cost]) => [what, money(cost)]), ['total', money(total(month))]],
  );
}

const total = (month: readonly (readonly [string, number])[]): number => month.reduce((all, [, cost]) => all + cost, 0);

/** The same work, in the units that other services bill. */
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
    ['per million', ...SYSTEMS],
    [
      row('steps of 1.2 KB', moneyRange(stepCost(small), stepCost(turn)), WORKS.step),
      row('steps of 20 KB', money(stepCost(large)), WORKS.largeStep),
      row('runs with three steps', money(lineOf(units.plainRun).all), WORKS.run),
      row('the same, removed by retention', money(lineOf(units.fullRun).all + lineOf(units.removal).all), WORKS.run),
      row(
        'approvals: suspend and resume only',
        money(lineOf({ counts: bare, done: { ...NOTHING_DONE, resume: 1, runs: 1 } }).all),
        WORKS.approval,
      ),
      ['approvals with notification, link, page and inbox', money(lineOf(units.approval).all), '–', '–', '–'],
      [
        'weeks of waiting: storage',
        money(weekOf(units.waitingBytes)),
        money(gigabytes * PRICES.durableGb.dollars * (168 / HOURS)),
        money(0),
        money(gigabytes * PRICES.activeGbHour.dollars * 168),
      ],
      ['an idle month (once, not per million)', money(month), money(0), money(0), money(0)],
    ],
  );
}

/** From how many steps a month on a deployment costs less than durable functions, its idle cost included. */
function paidFor({ turn }: StepUnits, units: DeploymentUnits): string {
  const less = peerCosts(WORKS.step).durableFunctions - stepCost(turn);
  const steps = total([...monthOf(units)]) / less;
  return `Compared with durable functions, the idle cost is recovered after ${steps.toFixed(1)} million steps a month.`;
}

/** The monthly storage cost of everything the steps wrote, per GB of results; nothing is pruned. */
function keptGb({ counts, steps, resultBytes }: Steps): number {
  const inTable = counts.dynamoBytesWritten + steps * OVERHEAD_BYTES;
  const kept = inTable * TABLE_GB + counts.s3BytesWritten * PRICES.s3Gb.dollars;
  return kept / (steps * resultBytes);
}

function gigabyteTable({ small, large }: StepUnits): string {
  const { durableGb, activeGbHour, retainedGbHour } = PRICES;
  const written = peerCosts(WORKS.largeStep);
  // One GB is 50,000 steps of 20 KB.
  const part = 1e9 / WORKS.largeStep.bytes / 1e6;
  const ours = moneyRange(keptGb(large), keptGb(small));
  const [few, many] = written.temporal;
  return markdownTable(
    ['per GB', ...SYSTEMS],
    [
      [
        'written, in steps of 20 KB',
        money(stepCost(large) * part),
        money(written.durableFunctions * part),
        money(written.stepFunctions * part),
        moneyRange(few * part, many * part),
      ],
      [
        'stored for a month, before the run ends',
        ours,
        money(durableGb.dollars),
        money(0),
        money(activeGbHour.dollars * HOURS),
      ],
      [
        'stored for a month, after the run ended',
        ours,
        money(durableGb.dollars),
        money(0),
        money(retainedGbHour.dollars * HOURS),
      ],
    ],
  );
}
