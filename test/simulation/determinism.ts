import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { randomFrom } from '../faults/seeded.ts';

/** What takes the place of time and chance while a seed runs. */
export interface Source {
  readonly chance: () => number;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

let source: Source | undefined;
let ids = randomFrom(0);
let ticks: (() => void)[] = [];

/** Lets everything that draws ids, numbers and pauses in this process draw them from here. */
export function seedEverything(seed: number, from: Source): void {
  source = from;
  ids = randomFrom(seed ^ 0x5eed);
  ticks = [];
}

/** Resolves when nothing goes on any more without an answer of the storage or the passing of time. */
export async function quiet(): Promise<void> {
  for (;;) {
    await new Promise(nextTurn);
    if (ticks.length === 0) return;
    const due = ticks;
    ticks = [];
    for (const resolve of due) resolve();
  }
}

// The last of a turn of Node's loop: every promise that could go on has gone on.
const nextTurn = globalThis.setImmediate;

const seededBytes = (size: number): Buffer => Buffer.from(Array.from({ length: size }, () => Math.floor(ids() * 256)));

// What was imported before sees it too: the names that modules import from Node are live.
Object.assign(timers, {
  setImmediate: (value?: unknown) => new Promise((resolve) => ticks.push(() => resolve(value))),
  setTimeout: async (milliseconds: number, value?: unknown) => {
    await source?.sleep(milliseconds);
    return value;
  },
});
Object.assign(crypto, { randomBytes: seededBytes });
syncBuiltinESMExports();
Math.random = () => source?.chance() ?? 0.5;
