import { type Counts, s3Requests } from '../counts.ts';
import { NO_ACTIVITY } from '../deployment.ts';
import {
  formatFigure,
  formatMoney,
  formatMoneyRange,
  type MarkdownCell,
  markdownTable,
  type Section,
} from '../markdown-table.ts';
import { formatPrice, PRICES } from '../prices.ts';
import { OVERHEAD_BYTES } from '../stored-bytes.ts';
import { approvalCosts } from '../waking-costs.ts';
import type { Wire } from '../wire.ts';
import { HOURS_PER_MONTH, idleMonthCosts, stepCost, toCostLine } from './lines.ts';
import { type PeerUnits, peerCosts } from './peers.ts';
import { functionsTable, pricesTable } from './price-tables.ts';
import { type StepUnits, type StepUsage, stepUnits } from './steps.ts';
import { type DeploymentUnits, deploymentUnits, type Usage } from './units.ts';

/** Counts requests on the wire and returns the tables of docs/reference/cost.md. */
export async function billReport(wire: Wire): Promise<readonly Section[]> {
  const steps = await stepUnits(wire);
  const units = await deploymentUnits(wire);
  const { all: bare } = await approvalCosts(wire, ['user:ann']);
  if (!bare) throw new Error('Expected the costs of an approval; none were counted.');
  return [
    { title: 'Steps', table: stepsTable(steps) },
    { title: 'Runs and approvals', table: runsTable(units, bare), sentence: explainCost(units.plainRun) },
    { title: 'Idle month', table: monthTable(units) },
    {
      title: 'Compared with other services',
      table: peersTable(steps, units, bare),
      sentence: breakEvenText(steps, units),
    },
    { title: 'Storage per GB', table: gigabyteTable(steps) },
    { title: 'Lambda functions', table: functionsTable() },
    { title: 'Prices', table: pricesTable() },
  ];
}

function stepsTable({ small, large, turn, update }: StepUnits): string {
  const row = (what: string, usage: StepUsage): MarkdownCell[] => [
    what,
    usage.counts.writeUnits / usage.steps,
    s3Requests(usage.counts) / usage.steps,
    formatMoney(stepCost(usage)),
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
const weekStorageCost = (bytes: number): number => (bytes / 1000) * TABLE_GB * (168 / HOURS_PER_MONTH);

function runsTable(units: DeploymentUnits, bare: Counts): string {
  const row = (what: string, usage: Usage): MarkdownCell[] => {
    const { writeUnits, readUnits } = usage.counts;
    const { storage, lambda, messages, total: all, invocations } = toCostLine(usage);
    return [what, writeUnits, readUnits, invocations, ...[storage, lambda, messages, all].map(formatMoney)];
  };
  const week = weekStorageCost(units.waitingBytes);
  return markdownTable(
    [
      'what',
      'write units',
      'read units',
      'invocations',
      'per million: DynamoDB and S3',
      'Lambda',
      'API, bus, topic',
      'total',
    ],
    [
      row('a run with three steps', units.plainRun),
      row('the same with owner, tag, timeout and retention', units.fullRun),
      row('removing that run when its retention ends', units.removal),
      row('an approval: request, notification, page view, decision by link, resume', units.approval),
      row('of that, only suspend, decide and claim', { counts: bare, activity: NO_ACTIVITY }),
      [
        `a week of waiting for it: ${formatFigure(units.waitingBytes / 1000)} KB in table and indexes`,
        0,
        0,
        0,
        formatMoney(week),
        formatMoney(0),
        formatMoney(0),
        formatMoney(week),
      ],
    ],
  );
}

/** How the cost of a row is computed. */
function explainCost(usage: Usage): string {
  const { counts, activity } = usage;
  const { storage, lambda, messages, invocations } = toCostLine(usage);
  return [
    `For the first row: ${counts.writeUnits} × ${formatPrice(PRICES.writeUnit)} + ${counts.readUnits} × ${formatPrice(PRICES.readUnit)}`,
    `= ${formatMoney(storage)} for DynamoDB, ${invocations} × ${formatMoney(lambda / invocations)} ≈ ${formatMoney(lambda)} for Lambda,`,
    `${activity.events} × ${formatMoney(messages)} for EventBridge.`,
  ].join(' ');
}

function monthTable(units: DeploymentUnits): string {
  const month = [...idleMonthCosts(units)];
  return markdownTable(
    ['what', 'per month'],
    [...month.map(([what, cost]) => [what, formatMoney(cost)]), ['total', formatMoney(total(month))]],
  );
}

const total = (month: readonly (readonly [string, number])[]): number => month.reduce((all, [, cost]) => all + cost, 0);

/** The same work, in the units that other services bill. */
const PEER_WORKS = {
  step: { operations: 1, transitions: 1, actions: 1, bytes: 1_200 },
  largeStep: { operations: 1, transitions: 1, actions: 1, bytes: 20_000 },
  run: { operations: 4, transitions: 3, actions: 4, bytes: 3_000 },
  approval: { operations: 3, transitions: 1, actions: 2, bytes: 0 },
} as const satisfies Record<string, PeerUnits>;

const SYSTEMS = ['Waitstate', 'Lambda durable functions', 'Step Functions', 'Temporal Cloud'];

function peersTable({ small, large, turn }: StepUnits, units: DeploymentUnits, bare: Counts): string {
  const row = (what: string, ours: string, work: PeerUnits): MarkdownCell[] => {
    const { durableFunctions: durable, stepFunctions, temporal: actions } = peerCosts(work);
    return [what, ours, formatMoney(durable), formatMoney(stepFunctions), formatMoneyRange(...actions)];
  };
  const gigabytes = units.waitingBytes / 1000;
  const month = total([...idleMonthCosts(units)]);
  return markdownTable(
    ['per million', ...SYSTEMS],
    [
      row('steps of 1.2 KB', formatMoneyRange(stepCost(small), stepCost(turn)), PEER_WORKS.step),
      row('steps of 20 KB', formatMoney(stepCost(large)), PEER_WORKS.largeStep),
      row('runs with three steps', formatMoney(toCostLine(units.plainRun).total), PEER_WORKS.run),
      row(
        'the same, removed by retention',
        formatMoney(toCostLine(units.fullRun).total + toCostLine(units.removal).total),
        PEER_WORKS.run,
      ),
      row(
        'approvals: suspend and resume only',
        formatMoney(toCostLine({ counts: bare, activity: { ...NO_ACTIVITY, resume: 1, runs: 1 } }).total),
        PEER_WORKS.approval,
      ),
      [
        'approvals with notification, link, page and inbox',
        formatMoney(toCostLine(units.approval).total),
        '–',
        '–',
        '–',
      ],
      [
        'weeks of waiting: storage',
        formatMoney(weekStorageCost(units.waitingBytes)),
        formatMoney(gigabytes * PRICES.durableGb.dollars * (168 / HOURS_PER_MONTH)),
        formatMoney(0),
        formatMoney(gigabytes * PRICES.activeGbHour.dollars * 168),
      ],
      ['an idle month (once, not per million)', formatMoney(month), formatMoney(0), formatMoney(0), formatMoney(0)],
    ],
  );
}

/** From how many steps a month on a deployment costs less than durable functions, its idle cost included. */
function breakEvenText({ turn }: StepUnits, units: DeploymentUnits): string {
  const less = peerCosts(PEER_WORKS.step).durableFunctions - stepCost(turn);
  const steps = total([...idleMonthCosts(units)]) / less;
  return `Compared with durable functions, the idle cost is recovered after ${steps.toFixed(1)} million steps a month.`;
}

/** The monthly storage cost of everything the steps wrote, per GB of results; nothing is pruned. */
function keptGbCost({ counts, steps, resultBytes }: StepUsage): number {
  const inTable = counts.dynamoBytesWritten + steps * OVERHEAD_BYTES;
  const kept = inTable * TABLE_GB + counts.s3BytesWritten * PRICES.s3Gb.dollars;
  return kept / (steps * resultBytes);
}

function gigabyteTable({ small, large }: StepUnits): string {
  const { durableGb, activeGbHour, retainedGbHour } = PRICES;
  const written = peerCosts(PEER_WORKS.largeStep);
  // One GB is 50,000 steps of 20 KB.
  const part = 1e9 / PEER_WORKS.largeStep.bytes / 1e6;
  const ours = formatMoneyRange(keptGbCost(large), keptGbCost(small));
  const [few, many] = written.temporal;
  return markdownTable(
    ['per GB', ...SYSTEMS],
    [
      [
        'written, in steps of 20 KB',
        formatMoney(stepCost(large) * part),
        formatMoney(written.durableFunctions * part),
        formatMoney(written.stepFunctions * part),
        formatMoneyRange(few * part, many * part),
      ],
      [
        'stored for a month, before the run ends',
        ours,
        formatMoney(durableGb.dollars),
        formatMoney(0),
        formatMoney(activeGbHour.dollars * HOURS_PER_MONTH),
      ],
      [
        'stored for a month, after the run ended',
        ours,
        formatMoney(durableGb.dollars),
        formatMoney(0),
        formatMoney(retainedGbHour.dollars * HOURS_PER_MONTH),
      ],
    ],
  );
}
