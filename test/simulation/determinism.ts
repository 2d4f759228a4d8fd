import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { randomFrom } from '../faults/seeded.ts';

/** Replaces time and randomness while a seed runs. */
export interface Source {
  readonly chance: () => number;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

let source: Source | undefined;
let ids = randomFrom(0);
let ticks: (() => void)[] = [];

/** Makes random ids, random numbers and timers of this process deterministic. */
export function seedEverything(seed: number, from: Source): void {
  source = from;
  ids = randomFrom(seed ^ 0x5eed);
  ticks = [];
}

/** Resolves when all remaining work waits for a storage response or for time to pass. */
export async function settlePending(): Promise<void> {
  for (;;) {
    await new Promise(nextTurn);
    if (ticks.length === 0) return;
    const due = ticks;
    ticks = [];
    for (const resolve of due) resolve();
  }
}

// Runs at the end of a turn of Node's event loop, after all promises that can settle have settled.
const nextTurn = globalThis.setImmediate;

const seededBytes = (size: number): Buffer => Buffer.from(Array.from({ length: size }, () => Math.floor(ids() * 256)));

// Modules that were imported before see this too, because imports from Node are live bindings.
Object.assign(timers, {
  setImmediate: (value?: unknown) => new Promise((resolve) => ticks.push(() => resolve(value))),
  setTimeout: async (milliseconds: number, value?: unknown) => {
    await source?.sleep(milliseconds);
    return value;
  },
});
Object.assign(crypto, { randomBytes: seededBytes });
syncBuiltinESMExports();
// Workers in containers often have the same process id, too.
Object.defineProperty(process, 'pid', { value: 1 });
Math.random = () => source?.chance() ?? 0.5;
