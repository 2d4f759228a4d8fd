import type {
  CheckpointSelector,
  CheckpointSummary,
  Doc,
  HistoryOptions,
  Payload,
  PayloadRef,
  RunFilter,
  RunSummary,
} from '../checkpoints/engine.ts';
import type { Duration } from '../core/duration.ts';
import type { Status } from '../core/status.ts';
import type { AnswerInput, DecideInput } from '../runtime/approvals/decide-input.ts';
import type { RewindOptions } from '../runtime/control/rewind-and-fork.ts';
import type { StartedRun } from '../runtime/control/start-run.ts';
import type { ApprovalDocument } from './approval-document.ts';
import type { Lineage } from './lineage.ts';
import type { RecordedResultChanges } from './recorded-results.ts';

/**
 * What people and programs do with the runs of one tenant from outside, without the code of their agents: what the API,
 * the console and the command stand on. Values are documents: JSON in which `$` nodes stand for what JSON lacks.
 */
export interface Operator {
  readonly tenant: string;

  /** The runs that fit, last touched first, at most 100. A page may be short, and the list a moment behind. */
  runs(query?: RunsQuery): Promise<RunsPage>;
  /** How many runs have each status; counting stops at a thousand. */
  counts(): Promise<StatusCounts>;
  /** One run: what is known of it, what it waits for, and how it ended. */
  run(run: string): Promise<RunView>;
  history(run: string, query?: HistoryQuery): Promise<HistoryPage>;
  /** Where a checkpoint is named, undefined is the newest. */
  checkpoint(run: string, which?: CheckpointSelector): Promise<CheckpointView>;
  diff(run: string, before: CheckpointSelector | undefined, after: CheckpointSelector | undefined): Promise<DiffView>;
  payload(run: string, from: PayloadSource, id: string): Promise<Payload>;
  /** Where a run comes from and what was forked from it. */
  lineage(run: string): Promise<Lineage>;

  /** Starts a run; the same id, or the same key, twice starts one. */
  start(input: StartInput): Promise<StartedRun>;
  /** Says whether the signal is new. */
  signal(run: string, signal: { readonly name: string; readonly value?: Doc; readonly id?: string }): Promise<boolean>;
  cancel(run: string, reason?: string): Promise<Status>;
  retry(run: string): Promise<void>;
  /** Goes on from an earlier checkpoint of the same run, perhaps with another state. */
  rewind(run: string, to: CheckpointSelector, options?: RewindInput): Promise<void>;
  /** Begins a new run at a checkpoint; gives its id. */
  fork(run: string, input?: ForkInput): Promise<string>;

  /** What a person can still answer, oldest first. */
  inbox(
    person: string,
    options?: { readonly groups?: readonly string[]; readonly limit?: number },
  ): Promise<readonly ApprovalDocument[]>;
  /** All approvals that are open, of the runs that wait for one, for those who look after them. */
  pendingApprovals(options?: { readonly limit?: number }): Promise<readonly ApprovalDocument[]>;
  /** All approvals of a run, open and ended, oldest first. */
  approvals(run: string): Promise<readonly ApprovalDocument[]>;
  approval(run: string, id: string): Promise<ApprovalDocument>;
  /** An approval with the status of its run and the request that followed it. */
  approvalInRun(run: string, id: string): Promise<ApprovalInRun>;
  decide(run: string, input: DecideInput): Promise<ApprovalDocument>;
  remind(run: string, id: string): Promise<ApprovalDocument>;
  withdraw(run: string, id: string, why: string): Promise<ApprovalDocument>;
  /** The approval that a link opens, whosever it is, and the person whom it was made for. */
  approvalByLink(token: string): Promise<LinkedApproval>;
  /** Answers as that person. */
  decideByLink(token: string, answer: AnswerInput): Promise<LinkedApproval>;
}

export interface RunsQuery extends RunFilter {
  /** Only runs whose id has this in it. */
  readonly id?: string;
  /** That of an earlier page. */
  readonly cursor?: string;
}

export interface RunsPage {
  readonly runs: readonly RunSummary[];
  /** For the next page; absent when there is none. */
  readonly cursor?: string;
}

/** A number of runs; `isMore` when there are more than were counted. */
export interface RunCount {
  readonly count: number;
  readonly isMore: boolean;
}

export type StatusCounts = Readonly<Record<Status, RunCount>>;

/** A run as those see it who look after it. */
export interface RunView extends RunSummary {
  /** The newest checkpoint. */
  readonly version: number;
  /** The step that was recorded last. */
  readonly step?: string;
  readonly stepNumber: number;
  /** Whether an agent runs it, by the runtime; otherwise its checkpoints are saved by a program of its own. */
  readonly isDurable: boolean;
  /** Which invocation has it, and until when. */
  readonly lease?: { readonly by: string; readonly until: Date };
  /** When somebody must look at it next. */
  readonly dueAt?: Date;
  /** When it times out. */
  readonly deadline?: Date;
  /** How often it was delivered since it became ready. */
  readonly deliveries: number;
  /** Why it cannot go on with the code that is deployed. */
  readonly parked?: string;
  /** The ids of its open approvals. */
  readonly openApprovals: readonly string[];
  /** What it waits for: approvals, signals, timers, children, the next try of a step. */
  readonly waits: readonly Wait[];
  readonly input?: Doc;
  readonly result?: Doc;
  readonly error?: {
    readonly name: string;
    readonly message: string;
    /** Where it came up, as the engine told it. */
    readonly stack?: string;
    readonly failedAt: readonly string[];
    readonly notUndone: readonly string[];
  };
}

/** What a run waits for. */
export interface Wait {
  readonly kind: 'approval' | 'signal' | 'sleep' | 'call' | 'retry';
  /** The approval's id, the signal, the timer, the child run, the step. */
  readonly name: string;
  readonly until?: Date;
}

export interface HistoryQuery extends HistoryOptions {
  /** @default 100, at most 1,000 */
  readonly limit?: number;
}

export interface HistoryPage {
  readonly checkpoints: readonly CheckpointSummary[];
  /** The version to go on with, as `from` or, newest first, as `to`; absent at the end. */
  readonly next?: number;
}

/** A checkpoint with its content. */
export interface CheckpointView extends CheckpointSummary {
  readonly state: Doc;
  /** Results by id; of a durable run, the entries of its journal. */
  readonly toolResults: Readonly<Record<string, Doc>>;
  readonly model?: Doc;
  /** Every payload that the state and the results point at. */
  readonly payloads: readonly PayloadRef[];
  /** Whether the results are a journal of the runtime. */
  readonly isDurable: boolean;
}

/** What points at a payload: a checkpoint, or an approval of the run. */
export type PayloadSource = { readonly version: CheckpointSelector | undefined } | { readonly approval: string };

/** What changed in the state, and what was recorded. */
export interface DiffView {
  readonly added: readonly { readonly path: string; readonly value: Doc }[];
  readonly removed: readonly { readonly path: string; readonly value: Doc }[];
  readonly changed: readonly { readonly path: string; readonly before: Doc; readonly after: Doc }[];
  /** The same in words, of the state. */
  readonly text: string;
  readonly recorded: RecordedResultChanges;
}

interface StartInput {
  readonly agent: string;
  /** @default null */
  readonly input?: Doc;
  readonly id?: string;
  /** The caller's own key of this start, where it gives no id. */
  readonly key?: string;
  readonly owner?: string;
  readonly tags?: readonly string[];
  readonly retentionSeconds?: number;
  readonly timeout?: Duration;
}

interface RewindInput extends Omit<RewindOptions, 'state'> {
  /** The whole state that it goes on with; of a durable run. @default that of the checkpoint */
  readonly state?: Doc;
}

export interface ForkInput {
  readonly version?: number;
  readonly name?: string;
  readonly id?: string;
  /** The whole state that the fork begins with. @default that of the checkpoint */
  readonly state?: Doc;
  /** Other results, by id. */
  readonly toolResults?: Readonly<Record<string, Doc>>;
  readonly owner?: string;
  readonly tags?: readonly string[];
}

/** An approval, its run, and the request that followed it. */
export interface ApprovalInRun {
  readonly approval: ApprovalDocument;
  readonly run: { readonly status: Status; readonly agent?: string };
  /** The request that followed because facts had changed or edits were not accepted. */
  readonly followUp?: ApprovalDocument;
}

/** The approval of a link, and the person whose link it is. */
export interface LinkedApproval extends ApprovalInRun {
  readonly person: string;
}
