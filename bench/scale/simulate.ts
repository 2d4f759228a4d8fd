import { memoryStorage } from '../../lambda/memory.ts';
import { FUNCTIONS } from '../bill/lines.ts';
import { type Done, deployment, NOTHING_DONE } from '../deployment.ts';
import { add, type Ledger, newLedger, type OpenLedger } from './ledger.ts';
import { MIX, mixedRuns } from './mix.ts';
import { recordingStorage } from './recording-storage.ts';

/** What something used: storage, and everything else. */
export interface Part extends Done {
  readonly ledger: Ledger;
  /** Estimated time with typical request latencies, one run after the other. */
  readonly ms: number;
}

/** What the sweeper used for one kind of due record. */
export interface Looks extends Part {
  /** How many records were due. */
  readonly looks: number;
}

/** What all runs of the workload used. */
export interface Simulated {
  readonly runs: number;
  /** From the start to the end of each run, timers included. */
  readonly work: Part;
  /** The sweeper: waking runs, removing expired runs, and freeing their ids a day later. */
  readonly sweeps: Readonly<Record<'timers' | 'expiry' | 'freeing', Looks>>;
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
  const deployed = deployment({
    ...{ storage, nextRecords: storage.nextRecords, agents: MIX.map(({ agent }) => agent), writer: '169.254.100.6/8' },
    invoking: (work) => storage.asked('lambda', work),
  });
  const { clock } = deployed;
  const take = (): Part => ({ ...deployed.take(), ...storage.take() });
  const swept = async (afterMs: number): Promise<Looks> => {
    clock.moveTo(clock.now() + afterMs);
    const { failed, redelivered, ...outcomes } = await deployed.sweep();
    if (failed + redelivered > 0) throw new Error(`A sweep failed ${failed} times and delivered ${redelivered} again.`);
    return { ...take(), looks: Object.values(outcomes).reduce((all, count) => all + count, 0) };
  };
  // Removals also go through the stream; no handler acts on them.
  const streamed = async (looks: Looks): Promise<Looks> => {
    await deployed.flow();
    return { ...together(looks, { ...take(), ms: 0 }), looks: looks.looks };
  };

  const runs = mixedRuns(hundreds);
  for (const { kind, tenant, id, owner } of runs) {
    await deployed
      .at(kind.agent, tenant)
      .start({ order: 'o-17' } as never, { id, owner, retentionSeconds: RETENTION_DAYS * 24 * 3600 });
    await deployed.flow();
  }
  for (const { kind, tenant, id } of runs) {
    await kind.outside?.(deployed, deployed.at(kind.agent, tenant), id);
    await deployed.flow();
  }
  const first = take();
  const timers = await swept(HOUR_MS);
  await deployed.flow();
  const work = together(first, timers, take());
  const expiry = await streamed(await swept((RETENTION_DAYS + 1) * DAY_MS));
  const freeing = await streamed(await swept(DAY_MS + HOUR_MS));
  if (expiry.looks !== runs.length || freeing.looks !== runs.length)
    throw new Error(`${runs.length} runs began; ${expiry.looks} expired and ${freeing.looks} were freed.`);
  return { runs: runs.length, work, sweeps: { timers, expiry, freeing } };
}

/** The sum of several parts. */
export function together(...parts: readonly [Part, ...Part[]]): Part {
  const ledger = newLedger();
  for (const { ledger: part } of parts)
    for (const name of Object.keys(ledger) as (keyof OpenLedger)[])
      for (const [key, amount] of part[name]) add(ledger[name] as Map<unknown, number>, key, amount);
  const counts = COUNTS.map((name) => [name, parts.reduce((all, part) => all + part[name], 0)]);
  return { ...(Object.fromEntries(counts) as Omit<Part, 'ledger'>), ledger };
}

const COUNTS = [...(Object.keys(NOTHING_DONE) as (keyof Done)[]), 'ms'] as const satisfies readonly (keyof Part)[];
