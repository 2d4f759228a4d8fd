import { plaintext } from '../../../lambda/checkpoints/encryption/run-cipher.ts';
import type { SignalEvent } from '../../../lambda/runtime/wake/events.ts';
import { EventLog } from '../../../lambda/runtime/wake/events.ts';
import type { World } from '../world.ts';
import type { EndedRun } from './history.ts';

/** Each signal that was confirmed is an event, once and in the order of its sender; waits got them in their order. */
export async function checkSignals(world: World, ended: EndedRun): Promise<void> {
  const { run, at } = ended;
  const { signals } = await new EventLog().readBetween(at, plaintext, 0, 9_999_999_999);
  const last = new Map<string, number>();
  for (const { run: of, name, value, sender, confirmedAt, uncertain, refused } of world.ledger.signals) {
    if (of !== run || refused || confirmedAt === undefined) continue;
    const numbers = signals.filter((signal) => signal.value === value).map(({ number }) => number);
    const wrong = (what: string) => world.wrong(`signal ${value} to run ${run} ${what}`);
    const [number] = numbers;
    if (number === undefined) {
      // What was kept for a run that ended before anybody claimed it has nobody to go to.
      if (ended.head.status === 'SUCCEEDED') wrong('was confirmed and is lost');
      continue;
    }
    if (numbers.length > 1 && !uncertain) wrong('is there twice');
    if (number < (last.get(`${sender} ${name}`) ?? 0)) wrong('overtook one that was sent before it');
    last.set(`${sender} ${name}`, number);
  }
  checkReceived(world, ended, signals);
}

/** How much later than its wait ended a signal may have been missed: nobody looks and writes at the same moment. */
const MISSED_MS = 20 * 60_000;

function checkReceived(world: World, { run, versions }: EndedRun, signals: readonly SignalEvent[]): void {
  const received = new Map<string, { name: string; value: unknown; until: number; timedOut: boolean }>();
  for (const { entries } of versions)
    for (const [id, { kind, signal = '', value, until = 0, timedOut = false, ...entry }] of entries)
      if (kind === 'signal' && ('value' in entry || value !== undefined || timedOut))
        received.set(id, { name: signal, value, until, timedOut });
  for (const name of new Set(signals.map((signal) => signal.name))) {
    const waits = [...received.values()].filter((wait) => wait.name === name);
    const got = waits.filter((wait) => !wait.timedOut).map((wait) => wait.value);
    const sent = signals.filter((signal) => signal.name === name);
    const first = sent.slice(0, got.length).map(({ value }) => value);
    if (String(got.toSorted()) !== String(first.toSorted()))
      world.wrong(`run ${run} received ${got.join(', ')}; the first that came are ${first.join(', ')}`);
    const missed = sent[got.length];
    const late = waits.find(({ timedOut, until }) => timedOut && missed && missed.at < until - MISSED_MS);
    if (late) world.wrong(`run ${run} gave up waiting for "${name}", and ${String(missed?.value)} had come`);
  }
  for (const [at, values] of world.ledger.received.get(run) ?? [])
    if (values.size > 1) world.wrong(`${at} of run ${run} received ${[...values].join(' and ')}`);
}
