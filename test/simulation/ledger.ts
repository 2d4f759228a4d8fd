import type { GroupMembers, Person } from '../../lambda/core/approval.ts';
import type { Invocation, Process } from './process.ts';

/** One execution of a step function. */
export interface Execution {
  readonly number: number;
  readonly run: string;
  readonly at: string;
  /** The idempotency key. */
  readonly key: string;
  readonly process: Process;
  /** The invocation that runs it; undefined if its process is dead. */
  readonly invocation: Invocation | undefined;
  readonly once: boolean;
  /** Whether it finished while its function still had time to record the result. */
  finishedInTime: boolean;
}

/** A result that an agent saw, and the number of commits at that time. */
export interface Sighting {
  readonly run: string;
  readonly execution: number;
  readonly commits: number;
}

/** A vote that a person sent, whether or not it arrived. */
export interface Ballot {
  readonly run: string;
  readonly approval: string;
  readonly by: Person;
  readonly answer: 'approve' | 'reject';
  /** What they decided on, see `describeEdits`. */
  readonly about: string;
  /** The groups of their login. */
  readonly groups: readonly string[];
}

/** A vote that was confirmed to its approver. */
export interface ConfirmedVote extends Ballot {
  readonly status: string;
}

/** What a decision is about: the request with these changes, or the request as it was made. */
export const describeEdits = (edits: unknown): string => (edits === undefined ? 'no edits' : JSON.stringify(edits));

/** A signal that a sender sent. */
export interface SentSignal {
  readonly run: string;
  readonly name: string;
  readonly value: string;
  readonly sender: string;
  confirmedAt: number | undefined;
  /** Whether it may be stored more than once, because it has no id and was sent again. */
  uncertain: boolean;
  refused: boolean;
}

/** What agents, people and services observed, independent of the storage. */
export class Ledger {
  readonly executions: Execution[] = [];
  /** The invocations by their ids; a retry has the id of the earlier attempt. */
  readonly invocations = new Map<string, Invocation>();
  readonly sightings: Sighting[] = [];
  /** The execution that each move of a run last saw. */
  readonly seen = new Map<string, number>();
  readonly undone = new Map<number, number>();
  /** The signals that each move of a run received. */
  readonly received = new Map<string, Map<string, Set<string | undefined>>>();
  readonly ballots: Ballot[] = [];
  readonly votes: ConfirmedVote[] = [];
  /** What people saw, by run, approval and hash. */
  readonly shown = new Map<string, string>();
  /** The decision that each approval of a run returned to the agent. */
  readonly decisions = new Map<string, string>();
  readonly signals: SentSignal[] = [];
  /** The status that each cancel returned, by run. */
  readonly cancels = new Map<string, string>();
  /** The members that the hook of an agent listed last in each process, by group. */
  readonly listed = new Map<string, GroupMembers>();
  /** The approval links that were sent, by run, approval and person. */
  readonly links = new Map<string, string>();
  readonly started = new Set<string>();
  readonly fixed = new Set<string>();
  readonly retried = new Set<string>();
  readonly rechecks = new Map<string, number>();
  /** The time, random number and UUID that each move of a run received. */
  readonly notes = new Map<string, string>();

  begin(run: string, at: string, key: string, process: Process, once: boolean): Execution {
    const invocation = process.invocations.get(run);
    const number = this.executions.length;
    const execution = { number, run, at, key, process, invocation, once, finishedInTime: false };
    this.executions.push(execution);
    return execution;
  }

  receive(run: string, at: string, value: string | undefined): void {
    const moves = this.received.get(run) ?? new Map<string, Set<string | undefined>>();
    this.received.set(run, moves);
    moves.set(at, (moves.get(at) ?? new Set()).add(value));
  }
}
