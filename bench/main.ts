import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { printBudgets } from './budgets.ts';
import { coldStart } from './cold-start.ts';
import { cpu } from './cpu.ts';
import { durableSteps } from './durable-steps.ts';
import { embeddedSize } from './embedded.ts';
import { functionStarts } from './functions.ts';
import { type Growth, growth } from './growth.ts';
import { printHydrate } from './hydrate.ts';
import { installPeers, NO_PEERS, type Peers } from './peers.ts';
import { writePlot } from './plot.ts';
import { runCosts } from './run-costs.ts';
import { runtimeCosts } from './runtime-costs.ts';
import { runtimeCpu } from './runtime-cpu.ts';
import { runtimeSteps } from './runtime-steps.ts';
import { printStorage } from './storage.ts';
import { sweepCosts } from './sweep-costs.ts';
import { print } from './table.ts';
import { lastStep } from './trace.ts';
import { startWire, type Wire } from './wire.ts';
import { CONVERSATION, EDITS, LONG_TURNS } from './works.ts';

const HELP = `npm run bench -- [options]

Measures the cost of the checkpoint store and of the durable runtime: requests, capacity units and bytes on the wire to the
test engines (per step, turn, group of parallel steps, approval, signal, child run, resume and sweep), CPU time of our own
code, code loaded at a function's start, and durable steps per second on this disk, compared with AWS's durable execution
SDK and LangGraph.js.

  --short        measure counts only, without peers, in about a minute; exit with 1 if a count exceeds its budget
  --no-peers     leave out the peers; without this option, they are installed into bench/peers when first needed
  --json FILE    also write the workloads as rows { work, system, n, requests, writeUnits, readUnits, s3Requests, bytes,
                 cpuMsPerStep, usdPerMillion }, with sums over the first n steps
  --plot         also write docs/reference/cost.svg
  --help         show this help`;

const { values: flags } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    'no-peers': { type: 'boolean', default: false },
    json: { type: 'string' },
    plot: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (flags.help) print(HELP);
else process.exitCode = (await bench()) ? 0 : 1;

async function bench(): Promise<boolean> {
  const { short } = flags;
  const peers = short || flags['no-peers'] ? NO_PEERS : installPeers();
  print(
    `Node ${process.version}. Units are computed from the items on the wire by DynamoDB's documented rules, indexes included.`,
  );
  const wire = await startWire();
  try {
    const growths = short ? await shortWorks(wire) : await fullWorks(wire, peers);
    for (const { work, hydrated } of growths) printHydrate(work.name, hydrated);
    printStorage(growths);
    printEngine(growths);
    const counts = {
      growths,
      runs: await runCosts(wire, short ? 100 : 200),
      runtimeSteps: await runtimeSteps(wire, short ? [10, 100, 1_000] : [10, 100, 1_000, 5_000]),
      runtimeCosts: await runtimeCosts(wire, [10, 100, 1_000]),
    };
    await sweepCosts(wire, short ? 500 : 10_000);
    const bundle = await coldStart(short ? 0 : 21);
    const functions = await functionStarts(short ? 0 : 11);
    const measured = { ...counts, bundle, functions, ...(!short && (await measureTimes(peers))) };
    if (flags.json)
      writeFileSync(
        flags.json,
        `${JSON.stringify(
          growths.flatMap(({ rows }) => rows),
          undefined,
          2,
        )}\n`,
      );
    if (flags.plot) plot(growths);
    const areBudgetsMet = printBudgets(measured);
    return areBudgetsMet || !short;
  } finally {
    await wire.stop();
  }
}

async function measureTimes(peers: Peers) {
  const measured = { cpu: await cpu(), runtimeCpu: await runtimeCpu(), durable: await durableSteps(1_000, peers) };
  await embeddedSize(peers.hasSqlite);
  return measured;
}

async function shortWorks(wire: Wire): Promise<readonly Growth[]> {
  return [
    await growth(wire, CONVERSATION, { marks: [10, 100, 300] }),
    await growth(wire, LONG_TURNS, { marks: [10, 60] }),
    await growth(wire, EDITS, { marks: [10, 150] }),
  ];
}

async function fullWorks(wire: Wire, peers: Peers): Promise<readonly Growth[]> {
  const peerSteps = peers.hasDynamodb ? { peerSteps: 300 } : {};
  const marks = [10, 100, 1_000, 10_000];
  const conversation = await growth(wire, CONVERSATION, { marks, ...peerSteps });
  // 10,000 turns of 20 KB would make a state of 200 MB and take 1 GB of the S3 engine's memory.
  const long = await growth(wire, LONG_TURNS, { marks: [10, 100, 1_000], ...peerSteps });
  print(
    '  ("20 KB a turn" stops at 1,000 turns, a state of 20 MB: 10,000 turns would be 200 MB and take longer than the rest.)',
  );
  // Whole states of constant size cost the same at every step; 10,000 of them would take 2 GB of the engine's memory.
  return [conversation, long, await growth(wire, EDITS, { marks, wholeSteps: 1_000 })];
}

/** Prints whether the engine reports the same units as the documented rules give. */
function printEngine(growths: readonly Growth[]): void {
  const traces = growths.flatMap(({ ours, whole, peer }) => [ours, whole, ...(peer ? [peer] : [])]);
  const different = traces.filter((traced) => {
    const counts = traced.after[lastStep(traced)];
    return counts && (counts.engineWriteUnits !== counts.writeUnits || counts.engineReadUnits !== counts.readUnits);
  });
  print(
    different.length === 0
      ? 'The engine reports the same units for all of these.'
      : `The engine reports different units for: ${different.map(({ system }) => system).join(', ')}.`,
  );
}

function plot(growths: readonly Growth[]): void {
  const conversation = growths.find(({ work }) => work === CONVERSATION);
  if (!conversation) return;
  const { ours, whole, peer } = conversation;
  writePlot([
    { name: 'Waitstate', traced: ours },
    { name: 'whole state each step', traced: whole },
    ...(peer ? [{ name: peer.system, traced: peer }] : []),
  ]);
}
