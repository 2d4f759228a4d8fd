import { bytesWritten, type Counts, dollars, dynamoRequests, formatKinds, s3Requests } from './counts.ts';
import { type HydrateCost, hydrate } from './hydrate.ts';
import { startRwaiPeer } from './peer-system.ts';
import { type Row, toRow } from './rows.ts';
import { dynamoStore, waitstateInMemory, waitstateSystem, wholeStateSystem } from './systems.ts';
import { type Cell, formatBytes, formatTable, median, print } from './table.ts';
import { countsBetween, lastStep, type Trace, trace, traceCpu } from './trace.ts';
import type { Wire } from './wire.ts';
import type { Work } from './works.ts';

/** How the cost of a workload grows with its steps, for each system. */
export interface Growth {
  readonly work: Work;
  readonly marks: readonly number[];
  readonly ours: Trace;
  readonly whole: Trace;
  readonly peer?: Trace;
  readonly hydrated: readonly HydrateCost[];
  readonly rows: readonly Row[];
}

export interface GrowthOptions {
  readonly marks: readonly number[];
  /** How many steps to measure on the peer. @default 0, no peer */
  readonly peerSteps?: number;
  /** How many steps to measure on whole-state saving. @default as many as on our store */
  readonly wholeSteps?: number;
}

/** Runs a workload on our store, on whole-state saving and on the peer, and prints the cost of its steps. */
export async function growth(
  wire: Wire,
  work: Work,
  { marks, peerSteps = 0, wholeSteps }: GrowthOptions,
): Promise<Growth> {
  const steps = Math.max(...marks);
  const open = await dynamoStore(wire);
  const hydrated: HydrateCost[] = [];
  const ours = await trace(wire, waitstateSystem(open(), work), steps, async (step) => {
    if (marks.includes(step)) hydrated.push(...(await hydrate(wire, open, step)));
  });
  if (ours.failure)
    throw new Error(`Expected ${steps} steps on our store; step ${ours.failure.step} failed: ${ours.failure.why}`);
  const own = await traceCpu(waitstateInMemory(work), steps);
  const whole = await trace(wire, await wholeStateSystem(wire, work), wholeSteps ?? steps);
  const peer = peerSteps > 0 ? await tracePeer(wire, work, peerSteps) : undefined;
  const traces = [ours, whole, ...(peer ? [peer] : [])];
  const rows = traces.flatMap((traced) => reachedMarks(traced, marks).map((n) => toRow(work.name, traced, n)));

  print(
    formatTable(
      `${work.name}: ${work.description}. Sums over all steps so far, then averages per step; CPU is that of the process, the SDK included; "own" is that of our store alone, on in-memory storage; $ at list prices.`,
      [
        'system',
        'steps',
        'requests',
        'write units',
        'read units',
        'S3',
        'written',
        'units/step',
        'CPU ms/step',
        'own ms',
        '$/M steps',
        'DynamoDB by kind; S3 by kind',
      ],
      traces.flatMap((traced) =>
        reachedMarks(traced, marks).map((n) => toCells(traced, n, traced === ours ? own : undefined)),
      ),
    ),
  );
  for (const { system, failure } of traces)
    if (failure) print(`  ${system} fails at step ${failure.step}: ${failure.why}`);
  printFlatness(work.name, 'a step of ours', ours, marks);
  return { work, marks, ours: ours, whole, ...(peer && { peer }), hydrated, rows };
}

async function tracePeer(wire: Wire, work: Work, steps: number): Promise<Trace> {
  const peer = await startRwaiPeer(wire, work);
  try {
    return { ...(await trace(wire, peer, steps)), cpuMs: peer.cpuMs };
  } finally {
    peer.stop();
  }
}

/** The marks that a system reached, and its last step if it failed between two marks. */
function reachedMarks(traced: Trace, marks: readonly number[]): readonly number[] {
  const last = lastStep(traced);
  const seen = marks.filter((mark) => mark <= last);
  return traced.failure && last > 0 && !seen.includes(last) ? [...seen, last] : seen;
}

function toCells(traced: Trace, n: number, own: readonly number[] | undefined): readonly Cell[] {
  const counts = countsBetween(traced, 0, n);
  const perStep = (value: number | undefined) => (value === undefined ? undefined : value / n);
  return [
    traced.system,
    n,
    dynamoRequests(counts),
    counts.writeUnits,
    counts.readUnits,
    s3Requests(counts),
    formatBytes(bytesWritten(counts)),
    counts.writeUnits / n,
    perStep(traced.cpuMs[n]),
    perStep(own?.[n]),
    (dollars(counts) / n) * 1e6,
    `${formatKinds(counts.requests)}; ${formatKinds(counts.s3)}`,
  ];
}

/** The cost of the steps around a mark, wide enough to contain the rare larger steps. */
export interface Window {
  readonly from: number;
  readonly to: number;
  readonly steps: number;
  readonly counts: Counts;
  /** Write units of the median step and of the largest one. */
  readonly medianUnits: number;
  readonly maxUnits: number;
}

/** The steps from half of each mark to one and a half, as far as the trace goes. */
export function windows(traced: Trace, marks: readonly number[]): readonly Window[] {
  return marks.map((mark) => {
    // The first step also creates the run, so it is left out.
    const from = Math.max(1, Math.ceil(mark / 2));
    const to = Math.min(lastStep(traced), Math.floor(mark * 1.5));
    const units = Array.from(
      { length: to - from },
      (_, at) => countsBetween(traced, from + at, from + at + 1).writeUnits,
    );
    return {
      from,
      to,
      steps: to - from,
      counts: countsBetween(traced, from, to),
      medianUnits: median(units),
      maxUnits: Math.max(...units),
    };
  });
}

/** Prints whether the cost of a step stays the same around each mark. */
export function printFlatness(name: string, what: string, traced: Trace, marks: readonly number[]): void {
  print(
    formatTable(
      `${name}, flatness: what ${what} costs around step ${marks.map((mark) => mark.toLocaleString('en')).join(', ')} (averages over the steps named).`,
      [
        'steps',
        'requests/step',
        'write units/step',
        'median step',
        'largest step',
        'read units/step',
        'S3/step',
        'in DynamoDB/step',
        'written/step',
        '$/M steps',
      ],
      windows(traced, marks).map(({ from, to, steps, counts, medianUnits, maxUnits }) => [
        `${(from + 1).toLocaleString('en')}–${to.toLocaleString('en')}`,
        dynamoRequests(counts) / steps,
        counts.writeUnits / steps,
        medianUnits,
        maxUnits,
        counts.readUnits / steps,
        s3Requests(counts) / steps,
        `${Math.round(counts.dynamoBytesWritten / steps).toLocaleString('en')} B`,
        formatBytes(bytesWritten(counts) / steps),
        (dollars(counts) / steps) * 1e6,
      ]),
    ),
  );
}
