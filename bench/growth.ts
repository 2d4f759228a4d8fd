import { bytesWritten, type Counts, dollars, dynamoRequests, formatKinds, s3Requests } from './counts.ts';
import { type HydrateCost, hydrate } from './hydrate.ts';
import { startRwaiPeer } from './peer-system.ts';
import { type Row, toRow } from './rows.ts';
import { dynamoStore, waitstateInMemory, waitstateSystem, wholeStateSystem } from './systems.ts';
import { type Cell, formatBytes, formatTable, median, print } from './table.ts';
import { countsBetween, lastStep, type Trace, trace, traceCpu } from './trace.ts';
import type { Wire } from './wire.ts';
import type { Work } from './works.ts';

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
  /** Where the peers are to be measured too: to how many steps. */
  readonly peerSteps?: number;
  /** Where whole states are to be saved fewer times. @default as often as ours */
  readonly wholeSteps?: number;
}

/** Does a work on our store, on whole-state saving and on the peer, and prints what each step cost. */
export async function growth(
  wire: Wire,
  work: Work,
  { marks, peerSteps = 0, wholeSteps }: GrowthOptions,
): Promise<Growth> {
  const steps = Math.max(...marks);
  const open = await dynamoStore(wire);
  const hydrated: HydrateCost[] = [];
  const mine = await trace(wire, waitstateSystem(open(), work), steps, async (step) => {
    if (marks.includes(step)) hydrated.push(...(await hydrate(wire, open, step)));
  });
  if (mine.failure) throw new Error(`Our store died at step ${mine.failure.step}: ${mine.failure.why}`);
  const own = await traceCpu(waitstateInMemory(work), steps);
  const whole = await trace(wire, await wholeStateSystem(wire, work), wholeSteps ?? steps);
  const peer = peerSteps > 0 ? await tracePeer(wire, work, peerSteps) : undefined;
  const traces = [mine, whole, ...(peer ? [peer] : [])];
  const rows = traces.flatMap((traced) => reached(traced, marks).map((n) => toRow(work.name, traced, n)));

  print(
    formatTable(
      `${work.name}: ${work.description}. Sums over all steps so far, then averages per step; CPU is that of the process with the SDK in it, "own" what our store alone takes of it (storage in memory), $ on list prices.`,
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
      traces.flatMap((traced) => reached(traced, marks).map((n) => line(traced, n, traced === mine ? own : undefined))),
    ),
  );
  for (const { system, failure: died } of traces) if (died) print(`  ${system} dies at step ${died.step}: ${died.why}`);
  printFlatness(work.name, 'a step of ours', mine, marks);
  return { work, marks, ours: mine, whole, ...(peer && { peer }), hydrated, rows };
}

async function tracePeer(wire: Wire, work: Work, steps: number): Promise<Trace> {
  const peer = await startRwaiPeer(wire, work);
  try {
    return { ...(await trace(wire, peer, steps)), cpuMs: peer.cpuMs };
  } finally {
    peer.stop();
  }
}

/** The marks that a system lived to see, and its last step where it died in between. */
function reached(traced: Trace, marks: readonly number[]): readonly number[] {
  const last = lastStep(traced);
  const seen = marks.filter((mark) => mark <= last);
  return traced.failure && last > 0 && !seen.includes(last) ? [...seen, last] : seen;
}

function line(traced: Trace, n: number, own: readonly number[] | undefined): readonly Cell[] {
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

/** What steps around a mark cost: enough of them that the rare larger ones are in it. */
export interface Window {
  readonly from: number;
  readonly to: number;
  readonly steps: number;
  readonly counts: Counts;
  /** Write units of the step in the middle, and of the largest. */
  readonly medianUnits: number;
  readonly maxUnits: number;
}

/** The steps from half of each mark to one and a half, as far as the trace goes. */
export function windows(traced: Trace, marks: readonly number[]): readonly Window[] {
  return marks.map((mark) => {
    // The first step begins the run and is priced by itself.
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
