import type { Process } from './process.ts';

/** One time that the function of a step ran. */
export interface Execution {
  readonly number: number;
  readonly run: string;
  readonly at: string;
  /** What services would recognise it by. */
  readonly key: string;
  readonly process: Process;
  readonly once: boolean;
  /** It came to its end while its function still had time to record it. */
  finishedInTime: boolean;
}

/** What the agent was shown, and how many commits there were by then. */
export interface Sighting {
  readonly run: string;
  readonly execution: number;
  readonly commits: number;
}

/** An answer that somebody gave, and was told that it counts. */
export interface Answered {
  readonly run: string;
  readonly approval: string;
  readonly by: string;
  readonly answer: 'approve' | 'reject';
  readonly status: string;
}

/** A signal that somebody sent. */
export interface Sent {
  readonly run: string;
  readonly name: string;
  readonly value: string;
  readonly sender: string;
  confirmedAt: number | undefined;
  /** That it may be there more than once: it has no id, and was sent again. */
  uncertain: boolean;
  refused: boolean;
}

/** What happened outside of the storage, as those saw it whom it happened to. */
export class Ledger {
  readonly executions: Execution[] = [];
  readonly sightings: Sighting[] = [];
  /** The execution that each place of a run last saw. */
  readonly seen = new Map<string, number>();
  readonly undone = new Map<number, number>();
  /** What each place of a run received. */
  readonly received = new Map<string, Map<string, Set<string | undefined>>>();
  readonly answers: Answered[] = [];
  readonly signals: Sent[] = [];
  /** What those who cancelled were told. */
  readonly cancels = new Map<string, string>();
  /** The links that people were sent, by run, approval and person. */
  readonly links = new Map<string, string>();
  readonly started = new Set<string>();
  readonly mended = new Set<string>();
  readonly retried = new Set<string>();
  readonly asked = new Map<string, number>();
  /** What a place of a run was told of time and chance. */
  readonly notes = new Map<string, string>();

  begin(run: string, at: string, key: string, process: Process, once: boolean): Execution {
    const execution = { number: this.executions.length, run, at, key, process, once, finishedInTime: false };
    this.executions.push(execution);
    return execution;
  }

  receive(run: string, at: string, value: string | undefined): void {
    const places = this.received.get(run) ?? new Map<string, Set<string | undefined>>();
    this.received.set(run, places);
    places.set(at, (places.get(at) ?? new Set()).add(value));
  }
}
