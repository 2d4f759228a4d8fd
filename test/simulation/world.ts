import { BREAKS } from './breaks.ts';
import { Chance } from './chance.ts';
import { seedEverything } from './determinism.ts';
import { Faults } from './faults.ts';
import { Ledger } from './ledger.ts';
import { Process } from './process.ts';
import { Timeline } from './timeline.ts';
import { Truth } from './truth.ts';

/** How a seed is run. */
export interface WorldOptions {
  /** The guard that is taken out. */
  readonly broken?: string | undefined;
  /** Whether all that happens is written down. */
  readonly traces?: boolean;
}

const BEGIN = Date.UTC(2030, 0, 1);

/** Everything that is there while a seed runs. */
export class World {
  readonly timeline = new Timeline(BEGIN);
  readonly chance: Chance;
  readonly faults: Faults;
  readonly truth: Truth;
  readonly ledger = new Ledger();
  readonly trace: string[] | undefined;
  readonly findings: string[] = [];
  /** How long a function runs at most. */
  readonly functionMs: number;
  /** Whether the table's stream delivers, or whoever makes a run ready. */
  readonly streams: boolean;
  readonly inlineBytes: number;
  readonly maxAttempts: number;
  #processes = 0;

  constructor(seed: number, { broken, traces }: WorldOptions = {}) {
    this.chance = new Chance(seed);
    seedEverything(seed, {
      chance: this.chance.next,
      sleep: (milliseconds) => new Promise((resolve) => this.timeline.after(milliseconds, resolve)),
    });
    this.faults = new Faults(this.chance);
    this.truth = new Truth(this.timeline, broken === undefined ? {} : (BREAKS[broken] ?? {}));
    this.trace = traces ? [] : undefined;
    this.functionMs = this.chance.one([25_000, 45_000, 900_000]);
    this.streams = this.chance.happens(0.4);
    this.inlineBytes = this.chance.one([600, 8_192]);
    this.maxAttempts = this.chance.happens(0.1) ? 3 : 1_000;
  }

  process(name: string, skewMs = this.faults.skew()): Process {
    this.#processes += 1;
    return new Process(`${name}/${this.#processes}`, this.timeline, skewMs);
  }

  /** Something is not as it must be. */
  wrong(what: string): void {
    this.findings.push(what);
    this.trace?.push(`${this.#time()} WRONG ${what}`);
  }

  /** What a process did, and what happened to it. */
  note(process: Process | string, what: string, fault?: string, error?: unknown): void {
    if (!this.trace) return;
    const name = typeof process === 'string' ? process : process.name;
    const came = error === undefined ? '' : ` ✕ ${error instanceof Error ? error.message : String(error)}`;
    this.trace.push(`${this.#time()} ${name.padEnd(14)} ${what}${fault ? ` [${fault}]` : ''}${came}`);
  }

  #time(): string {
    return ((this.timeline.now - BEGIN) / 1000).toFixed(3).padStart(11);
  }
}
