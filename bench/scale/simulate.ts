import { memoryStorage } from '../../lambda/memory.ts';
import { FUNCTIONS } from '../bill/lines.ts';
import { type Activity, createDeployment, NO_ACTIVITY } from '../deployment.ts';
import { add, type Ledger, newLedger, type OpenLedger } from './ledger.ts';
import { MIX, mixedRuns } from './mix.ts';
import { recordingStorage } from './recording-storage.ts';

/** What something used: storage, and everything else. */
export interface SimulatedUsage extends Activity {
  readonly ledger: Ledger;
  /** Estimated time with typical request latencies, one run after the other. */
  readonly ms: number;
}

/** What the sweeper used for one kind of due record. */
export interface SweepUsage extends SimulatedUsage {
  /** How many records were due. */
  readonly dueCount: number;
}

/** What all runs of the workload used. */
export interface Simulated {
  readonly runs: number;
  /** From the start to the end of each run, timers included. */
  readonly work: SimulatedUsage;
  /** The sweeper: waking runs, removing expired runs, and freeing their ids a day later. */
  readonly sweeps: Readonly<Record<'timers' | 'expiry' | 'freeing', SweepUsage>>;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RETENTION_DAYS = 90;

/**
 * Runs real agents on the real runtime and handlers, from start until their removal, on in-memory storage that records
 * which partition each request hits. Deterministic.
 */
export async function simulate(hundreds: number): Promise<Simulated> {
  const storage = recordingStorage(memoryStorage({ clock: () => deployed.clock.now() }), FUNCTIONS.sweep.memoryMB);
  const deployed = createDeployment({
    storage,
    nextRecords: storage.nextRecords,
    agents: MIX.map(({ agent }) => agent),
    writer: '169.254.100.6/8',
    onInvoke: (work) => storage.request('lambda', work),
  });
  const { clock } = deployed;
  const take = (): SimulatedUsage => ({ ...deployed.take(), ...storage.take() });
  const sweepAfter = async (afterMs: number): Promise<SweepUsage> => {
    clock.moveTo(clock.now() + afterMs);
    const { failed, redelivered, ...outcomes } = await deployed.sweep();
    if (failed + redelivered > 0)
      throw new Error(`Expected a sweep without failures; ${failed} failed and ${redelivered} were redelivered.`);
    return { ...take(), dueCount: Object.values(outcomes).reduce((all, count) => all + count, 0) };
  };
  // Removals also go through the stream; no handler acts on them.
  const afterStream = async (sweep: SweepUsage): Promise<SweepUsage> => {
    await deployed.flow();
    return { ...combine(sweep, { ...take(), ms: 0 }), dueCount: sweep.dueCount };
  };

  const runs = mixedRuns(hundreds);
  for (const { kind, tenant, id, owner } of runs) {
    await deployed
      .at(kind.agent, tenant)
      .start({ order: 'o-17' } as never, { id, owner, retention: { days: RETENTION_DAYS } });
    await deployed.flow();
  }
  for (const { kind, tenant, id } of runs) {
    await kind.afterWait?.(deployed, deployed.at(kind.agent, tenant), id);
    await deployed.flow();
  }
  const first = take();
  const timers = await sweepAfter(HOUR_MS);
  await deployed.flow();
  const work = combine(first, timers, take());
  const expiry = await afterStream(await sweepAfter((RETENTION_DAYS + 1) * DAY_MS));
  const freeing = await afterStream(await sweepAfter(DAY_MS + HOUR_MS));
  if (expiry.dueCount !== runs.length || freeing.dueCount !== runs.length)
    throw new Error(
      `Expected all ${runs.length} runs to be removed; ${expiry.dueCount} expired and ${freeing.dueCount} ids were freed.`,
    );
  return { runs: runs.length, work, sweeps: { timers, expiry, freeing } };
}

/** The sum of several parts. */
export function combine(...parts: readonly [SimulatedUsage, ...SimulatedUsage[]]): SimulatedUsage {
  const ledger = newLedger();
  for (const { ledger: part } of parts)
    for (const name of Object.keys(ledger) as (keyof OpenLedger)[])
      for (const [key, amount] of part[name]) add(ledger[name] as Map<unknown, number>, key, amount);
  const counts = SUMMED_FIELDS.map((name) => [name, parts.reduce((all, part) => all + part[name], 0)]);
  return { ...(Object.fromEntries(counts) as Omit<SimulatedUsage, 'ledger'>), ledger };
}

const SUMMED_FIELDS = [
  ...(Object.keys(NO_ACTIVITY) as (keyof Activity)[]),
  'ms',
] as const satisfies readonly (keyof SimulatedUsage)[];
