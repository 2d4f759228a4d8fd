import { plaintext } from '../../../lambda/checkpoints/encryption/run-cipher.ts';
import { EventLog, type SignalEvent } from '../../../lambda/runtime/wake/events.ts';
import type { World } from '../world.ts';
import type { EndedRun } from './history.ts';

/** Checks that each confirmed signal is one event, in the order of its sender, and that waits received them in order. */
export async function checkSignals(world: World, ended: EndedRun): Promise<void> {
  const { run, at } = ended;
  const { signals } = await new EventLog().readBetween(at, plaintext, 0, 9_999_999_999);
  const last = new Map<string, number>();
  for (const { run: of, name, value, sender, confirmedAt, uncertain, refused } of world.ledger.signals) {
    if (of !== run || refused || confirmedAt === undefined) continue;
    const numbers = signals.filter((signal) => signal.value === value).map(({ number }) => number);
    const report = (what: string) => world.addFinding(`signal ${value} to run ${run} ${what}`);
    const [number] = numbers;
    if (number === undefined) {
      // An early signal for a run that ended before its first claim is never delivered.
      if (ended.head.status === 'SUCCEEDED') report('was confirmed and is lost');
      continue;
    }
    if (numbers.length > 1 && !uncertain) report('is stored twice');
    if (number < (last.get(`${sender} ${name}`) ?? 0)) report('overtook an earlier signal of the same sender');
    last.set(`${sender} ${name}`, number);
  }
  checkReceived(world, ended, signals);
}

/** A wait may time out although a signal arrived this long before, because reading and writing are not simultaneous. */
const MISSED_MS = 20 * 60_000;

function checkReceived(world: World, { run, versions }: EndedRun, signals: readonly SignalEvent[]): void {
  const received = new Map<string, { name: string; value: unknown; until: number; timedOut: boolean }>();
  for (const { entries } of versions)
    for (const [id, entry] of entries) {
      if (entry.kind !== 'signal') continue;
      const { signal, value, until = 0, timedOut = false } = entry;
      if (value !== undefined || timedOut) received.set(id, { name: signal, value, until, timedOut });
    }
  for (const name of new Set(signals.map((signal) => signal.name))) {
    const waits = [...received.values()].filter((wait) => wait.name === name);
    const got = waits.filter((wait) => !wait.timedOut).map((wait) => wait.value);
    const sent = signals.filter((signal) => signal.name === name);
    const first = sent.slice(0, got.length).map(({ value }) => value);
    if (String(got.toSorted()) !== String(first.toSorted()))
      world.addFinding(`run ${run} received ${got.join(', ')}, but the first signals are ${first.join(', ')}`);
    const missed = sent[got.length];
    const late = waits.find(({ timedOut, until }) => timedOut && missed && missed.at < until - MISSED_MS);
    if (late)
      world.addFinding(`run ${run} timed out waiting for "${name}" although ${String(missed?.value)} had arrived`);
  }
  for (const [at, values] of world.ledger.received.get(run) ?? [])
    if (values.size > 1) world.addFinding(`${at} of run ${run} received ${[...values].join(' and ')}`);
}
