import type { ApprovalNotification } from '../../lambda/runtime/definition/approval-notification.ts';
import { BREAKS } from './breaks.ts';
import { Chance } from './chance.ts';
import { NotificationCheck } from './checks/notifications.ts';
import { seedEverything } from './determinism.ts';
import { Faults } from './faults.ts';
import { Groups } from './groups.ts';
import { Ledger } from './ledger.ts';
import { Process } from './process.ts';
import { Timeline } from './timeline.ts';
import { Truth } from './truth.ts';

/** How to run a seed. */
export interface WorldOptions {
  /** The name of the guard to disable. */
  readonly broken?: string | undefined;
  /** Whether to record a trace. */
  readonly traces?: boolean;
}

const START = Date.UTC(2030, 0, 1);

/** The simulated world of a seed. */
export class World {
  readonly timeline = new Timeline(START);
  readonly chance: Chance;
  readonly faults: Faults;
  readonly truth: Truth;
  readonly ledger = new Ledger();
  readonly trace: string[] | undefined;
  readonly findings: string[] = [];
  /** The timeout of a function. */
  readonly functionMs: number;
  /** What delivers READY runs: the table's stream, the process that makes a run READY, or workers that poll. */
  readonly delivery: 'stream' | 'direct' | 'workers';
  readonly groups: Groups;
  /** The agents that have a hook that lists the members of groups. */
  readonly listsMembers: ReadonlySet<string>;
  readonly notifications: NotificationCheck;
  /** Called when people get a notification. */
  onNotified: (notification: ApprovalNotification) => void = () => {};
  readonly inlineBytes: number;
  readonly maxClaimsWithoutProgress: number;
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
    this.delivery = this.chance.weighted([
      [4, 'direct'],
      [3, 'stream'],
      [3, 'workers'],
    ]);
    this.groups = new Groups(this);
    this.listsMembers = new Set(['programs', 'turns'].filter(() => this.chance.happens(0.5)));
    this.notifications = new NotificationCheck(this);
    this.inlineBytes = this.chance.one([600, 8_192]);
    this.maxClaimsWithoutProgress = this.chance.happens(0.1) ? 3 : 1_000;
  }

  process(name: string, skewMs = this.faults.skew()): Process {
    this.#processes += 1;
    return new Process(`${name}/${this.#processes}`, this.timeline, skewMs);
  }

  /** Adds a problem to the findings and to the trace. */
  readonly addFinding = (what: string): void => {
    this.findings.push(what);
    this.trace?.push(`${this.#time()} PROBLEM ${what}`);
  };

  /** Adds to the trace what a process did, and the fault or error that it met. */
  note(process: Process | string, what: string, fault?: string, error?: unknown): void {
    if (!this.trace) return;
    const name = typeof process === 'string' ? process : process.name;
    const failure = error === undefined ? '' : ` ✕ ${error instanceof Error ? error.message : String(error)}`;
    this.trace.push(`${this.#time()} ${name.padEnd(14)} ${what}${fault ? ` [${fault}]` : ''}${failure}`);
  }

  #time(): string {
    return ((this.timeline.now - START) / 1000).toFixed(3).padStart(11);
  }
}
