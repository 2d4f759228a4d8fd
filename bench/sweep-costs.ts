import { headRecord, readHead } from '../lambda/checkpoints/format/records.ts';
import { toPartition } from '../lambda/core/ids.ts';
import { agent } from '../lambda/index.ts';
import { sweepDue } from '../lambda/runtime.ts';
import { HEAD_KEY } from '../lambda/storage/keys.ts';
import type { Write } from '../lambda/storage/ports.ts';
import { measureCounts, printCosts } from './costs.ts';
import { invoke, type OpenAgent, openRuntime } from './open-runtime.ts';
import type { Wire } from './wire.ts';
import { RUN } from './works.ts';

const HOUR_MS = 3_600_000;
const DUE = 10;

/** Prints the cost of a sweep among many waiting runs: with none due, and with ten due. */
export async function sweepCosts(wire: Wire, waiting: number): Promise<void> {
  const open = await openRuntime(wire);
  await createWaitingRuns(open, { days: 3 }, waiting);
  await createWaitingRuns(open, { hours: 1 }, DUE);
  const sweep = (clock = Date.now) =>
    measureCounts(wire, async () => {
      const { runtime } = open(sleeper({ days: 3 }), { clock: { now: clock, sleep: async () => {} } });
      const { failed } = await sweepDue({ runtime });
      if (failed.length > 0) throw failed[0]?.error;
    });
  printCosts(
    `A sweep among ${waiting.toLocaleString('en')} runs that wait three days for a signal and ${DUE} that wait an hour.`,
    { 'no run due': await sweep(), [`${DUE} runs due`]: await sweep(() => Date.now() + 2 * HOUR_MS) },
  );
}

const sleeper = (timeout: { readonly days: number } | { readonly hours: number }) =>
  agent({ name: 'sleeper', run: (ctx) => ctx.waitForSignal('go', { timeout }) });

const BATCH_SIZE = 100;

/** Suspends one run and copies its head under other ids, because a sweep reads only the head. */
async function createWaitingRuns(
  open: OpenAgent,
  timeout: Parameters<typeof sleeper>[0],
  count: number,
): Promise<void> {
  const one = open(sleeper(timeout));
  const { id } = await one.start(undefined);
  await invoke(one, 'suspended', id);
  const { records, partition, tenant } = await one.runtime.contexts.forRun(id);
  const [stored] = await records.read(partition, [HEAD_KEY]);
  if (!stored) throw new Error(`Expected run "${id}" to have a head record; found none.`);
  const { meta } = readHead(stored);
  const puts = Array.from({ length: count - 1 }, (_, n): Write => {
    const copy = toPartition(tenant, `${RUN}-${Object.keys(timeout)}-${n}`);
    return { put: headRecord(copy, meta).stored, when: 'absent' };
  });
  for (let from = 0; from < puts.length; from += BATCH_SIZE) await records.commit(puts.slice(from, from + BATCH_SIZE));
}
