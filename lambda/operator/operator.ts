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
import type { Approver, Person, UnsentNotification } from '../core/approval.ts';
import type { DelegateInput } from '../core/delegation.ts';
import type { Duration } from '../core/duration.ts';
import type { Status } from '../core/status.ts';
import type { DecideAllInput, DecideAllResult } from '../runtime/approvals/decide-all.ts';
import type { AnswerInput, DecideInput } from '../runtime/approvals/decide-input.ts';
import type { DelegationView } from '../runtime/approvals/delegations.ts';
import type { RestartPreview } from '../runtime/control/preview-restart.ts';
import type { RewindOptions } from '../runtime/control/rewind-and-fork.ts';
import type { StartedRun } from '../runtime/control/start-run.ts';
import type { ApprovalDocument } from './approval-document.ts';
import type { Evidence } from './evidence/evidence.ts';
import type { Lineage } from './lineage.ts';
import type { RecordedResultChanges } from './recorded-results.ts';
import type { RunEventsPage, RunEventsQuery } from './run-events.ts';
import type { TimelinePage, TimelineQuery } from './timeline-page.ts';

/**
 * Reads and controls the runs of one tenant from outside, without the code of their agents. The API, the console and the
 * command line use it. Values are documents: JSON in which `$` nodes stand for values that JSON lacks.
 */
export interface Operator {
  readonly tenant: string;

  /** A page of at most 100 matching runs, last changed first. A page may be short, and the index slightly behind. */
  runs(query?: RunsQuery): Promise<RunsPage>;
  /** The number of runs of each status; counting stops at a thousand. */
  counts(): Promise<StatusCounts>;
  /** One run, with its waits and its result or error. With `maxBytes`, larger content is left out. */
  run(run: string, options?: { readonly maxBytes?: number }): Promise<RunView>;
  /** The status and the newest version of a run, without its content. */
  position(run: string): Promise<RunPosition>;
  history(run: string, query?: HistoryQuery): Promise<HistoryPage>;
  /** What happened in a run after a cursor: checkpoints, emitted events, and the output of running steps. */
  events(run: string, query?: RunEventsQuery): Promise<RunEventsPage>;
  /** What a run did and when: its newest spans, or those before a version or with a text; and its total times. */
  timeline(run: string, query?: TimelineQuery): Promise<TimelinePage>;
  /** A checkpoint; without a selector, the newest one. The same holds for `diff`. */
  checkpoint(run: string, which?: CheckpointSelector): Promise<CheckpointView>;
  diff(run: string, before: CheckpointSelector | undefined, after: CheckpointSelector | undefined): Promise<DiffView>;
  payload(run: string, from: PayloadSource, id: string): Promise<Payload>;
  /** The ancestors and forks of a run. */
  lineage(run: string): Promise<Lineage>;

  /** Stops runs of an agent from being executed, or allows them again; returns false if nothing changed. */
  pauseAgent(agent: string): Promise<boolean>;
  unpauseAgent(agent: string): Promise<boolean>;
  /** Starts a run; starting the same id or the same key twice starts one run. */
  start(input: StartInput): Promise<StartedRun>;
  /** Sends a signal; returns false if one with the same id was sent before. */
  signal(run: string, signal: { readonly name: string; readonly value?: Doc; readonly id?: string }): Promise<boolean>;
  cancel(run: string, reason?: string): Promise<Status>;
  retry(run: string): Promise<void>;
  /** Says which steps run again after a rewind to a checkpoint, or a fork from it; changes nothing. */
  previewRestart(run: string, to: CheckpointSelector | undefined, action: 'rewind' | 'fork'): Promise<RestartPreview>;
  /** Resumes the run from an earlier checkpoint, optionally with another state. */
  rewind(run: string, to: CheckpointSelector, options?: RewindInput): Promise<RewoundRun>;
  /** Starts a new run from a checkpoint; returns its id. */
  fork(run: string, input?: ForkInput): Promise<string>;

  /** The pending approvals that a person can decide, oldest first. */
  inbox(
    person: Approver,
    options?: PendingQuery & { readonly groups?: readonly string[] },
  ): Promise<readonly ApprovalDocument[]>;
  /** The pending approvals of all people, oldest first. */
  pendingApprovals(query?: PendingQuery): Promise<readonly ApprovalDocument[]>;
  /** Pending approvals whose notification is late; the first 100. */
  unsentNotifications(): Promise<readonly UnsentNotificationOf[]>;
  /** All approvals of a run, pending and ended, oldest first. */
  approvals(run: string): Promise<readonly ApprovalDocument[]>;
  approval(run: string, id: string): Promise<ApprovalDocument>;
  /** An approval with the status of its run and the request that followed it. */
  approvalInRun(run: string, id: string): Promise<ApprovalInRun>;
  /** What an approval showed, who decided what, and the checkpoints around it, to be checked offline. */
  evidence(run: string, id: string): Promise<Evidence>;
  decide(run: string, input: DecideInput): Promise<ApprovalDocument>;
  /** Decides up to 50 approvals of one kind with one answer, each by itself; returns a result for each, in order. */
  decideAll(input: DecideAllInput): Promise<readonly DecideAllResult<ApprovalDocument>[]>;
  remind(run: string, id: string): Promise<ApprovalDocument>;
  withdraw(run: string, id: string, reason: string): Promise<ApprovalDocument>;
  /** Lets someone answer for a person. The caller decides who may make it, and has authenticated `createdBy`. */
  delegate(input: DelegateInput): Promise<DelegationView>;
  /** Ends the delegation of a person early; undefined if there is none. */
  endDelegation(person: Person): Promise<DelegationView | undefined>;
  /** The delegations that have not ended: of everybody, or from and to one person; at most 1,000. */
  delegations(options?: { readonly person?: Person }): Promise<readonly DelegationView[]>;
  /** The delegations of the known approvers of a request that hold now. */
  delegationsOf(approval: Pick<ApprovalDocument, 'approvers' | 'members'>): Promise<readonly DelegationView[]>;
  /** The approval of a link, in whichever tenant it is. */
  approvalByLink(token: string): Promise<LinkedApproval>;
  /** Decides as the person whose link it is. */
  decideByLink(token: string, answer: AnswerInput | ReadAnswer): Promise<LinkedApproval>;
}

/** Which pending approvals to list. */
export interface PendingQuery {
  /** Only approvals of this agent. */
  readonly agent?: string;
  /** Only approvals with this name in the code of their agent. */
  readonly name?: string;
  /** @default 100, which is also the most */
  readonly limit?: number;
}

/** A notification that is late, and the approval that it is about. */
export interface UnsentNotificationOf extends UnsentNotification {
  readonly run: string;
  readonly approval: string;
  readonly agent?: string;
}

export interface RunsQuery extends RunFilter {
  /** Only runs whose id contains this text. */
  readonly id?: string;
  /** The cursor of the previous page. */
  readonly cursor?: string;
}

export interface RunsPage {
  readonly runs: readonly RunSummary[];
  /** For the next page; absent on the last one. */
  readonly cursor?: string;
}

/** A number of runs; `hasMore` if there are more than were counted. */
export interface RunCount {
  readonly count: number;
  readonly hasMore: boolean;
}

export type StatusCounts = Readonly<Record<Status, RunCount>>;

/** Where a run is. */
export interface RunPosition {
  readonly status: Status;
  readonly version: number;
}

/** A run as operators see it. */
export interface RunView extends RunSummary {
  /** The version of the newest checkpoint. */
  readonly version: number;
  /** The last recorded step. */
  readonly step?: string;
  readonly stepNumber: number;
  /** Whether the runtime executes it; if not, a program saves its checkpoints. */
  readonly isDurable: boolean;
  /** The invocation that has claimed it, and until when. */
  readonly lease?: { readonly by: string; readonly until: Date };
  /** When the sweeper checks it next. */
  readonly dueAt?: Date;
  /** When it times out. */
  readonly deadline?: Date;
  /** Whether it is READY and its agent is paused, so that nobody may claim it. */
  readonly isPaused: boolean;
  /** How often it was delivered since it became ready. */
  readonly deliveries: number;
  /** The ids of its pending approvals. */
  readonly pendingApprovals: readonly string[];
  /** What it waits for: approvals, signals, timers, child runs, the next attempt of a step. */
  readonly waits: readonly Wait[];
  /** The runs that it called, without those of earlier turns. */
  readonly children: readonly ChildRun[];
  /** The size of the content, if it was too large to load: then waits, children, input, result and error are missing. */
  readonly leftOutBytes?: number;
  readonly input?: Doc;
  readonly result?: Doc;
  readonly error?: {
    readonly name: string;
    readonly message: string;
    /** The code of an error of Waitstate, or the `code` of another error. */
    readonly code?: string;
    /** Why the run was cancelled. */
    readonly reason?: string;
    /** The stack trace. */
    readonly stack?: string;
    /** The errors that caused it, the nearest first. */
    readonly causes: readonly ErrorCause[];
    readonly failedOperations: readonly string[];
    readonly notUndone: readonly string[];
  };
}

/** An error that caused another one. */
export interface ErrorCause {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
}

/** A run that another one called. */
export interface ChildRun {
  /** The operation that called it. */
  readonly name: string;
  readonly run: string;
  readonly status: 'waiting' | 'succeeded' | 'failed';
}

/** What a run waits for. */
export interface Wait {
  readonly kind: 'approval' | 'signal' | 'sleep' | 'call' | 'retry';
  /** The id of the approval, or the name of the signal, timer, child run or step. */
  readonly name: string;
  readonly until?: Date;
  /** Why the last attempt of the step failed, and how many have failed. */
  readonly lastFailure?: string;
  readonly failures?: number;
}

export interface HistoryQuery extends HistoryOptions {
  /** @default 100, at most 1,000 */
  readonly limit?: number;
}

export interface HistoryPage {
  readonly checkpoints: readonly CheckpointSummary[];
  /** The version at which the next page starts: pass it as `from`, or as `to` if newest first. Absent at the end. */
  readonly next?: number;
}

/** A checkpoint with its content. */
export interface CheckpointView extends CheckpointSummary {
  readonly state: Doc;
  /** Results by id; for a durable run, its journal entries. */
  readonly toolResults: Readonly<Record<string, Doc>>;
  readonly model?: Doc;
  /** Every payload that the state and the results point at. */
  readonly payloads: readonly PayloadRef[];
  /** Whether the results are a journal. */
  readonly isDurable: boolean;
}

/** Where a payload is used: in a checkpoint, or in an approval of the run. */
export type PayloadSource = { readonly version: CheckpointSelector | undefined } | { readonly approval: string };

/** The differences between two checkpoints: in the state, and in the recorded results. */
export interface DiffView {
  readonly added: readonly { readonly path: string; readonly value: Doc }[];
  readonly removed: readonly { readonly path: string; readonly value: Doc }[];
  readonly changed: readonly { readonly path: string; readonly before: Doc; readonly after: Doc }[];
  /** The differences of the state as text. */
  readonly text: string;
  readonly recorded: RecordedResultChanges;
}

export interface StartInput {
  readonly agent: string;
  /** @default null */
  readonly input?: Doc;
  readonly id?: string;
  /** An idempotency key of the caller, instead of an id. */
  readonly key?: string;
  readonly owner?: string;
  /** The person who requests the run. The caller must have authenticated them. */
  readonly requestedBy?: Person;
  readonly tags?: readonly string[];
  readonly retention?: Duration;
  readonly timeout?: Duration;
}

/** A rewound run, at its new version. */
interface RewoundRun {
  readonly run: string;
  readonly version: number;
  readonly status: Status;
}

interface RewindInput extends Omit<RewindOptions, 'state'> {
  /** The complete new state, for durable runs. @default the state of the checkpoint */
  readonly state?: Doc;
}

export interface ForkInput {
  readonly version?: number;
  readonly name?: string;
  readonly id?: string;
  /** The complete state of the fork. @default the state of the checkpoint */
  readonly state?: Doc;
  /** Results to replace, by id. */
  readonly toolResults?: Readonly<Record<string, Doc>>;
  readonly owner?: string;
  /** The person who forks: the requester, if the original run has none. */
  readonly requestedBy?: Person;
  readonly tags?: readonly string[];
}

export type { RestartPreview } from '../runtime/control/preview-restart.ts';

/** An approval, its run, and the request that followed it. */
export interface ApprovalInRun {
  readonly approval: ApprovalDocument;
  readonly run: { readonly status: Status; readonly agent?: string };
  /** The request that followed because facts had changed or edits were not accepted. */
  readonly followUp?: ApprovalDocument;
}

/** Reads the decision from a form, which only makes sense with the approval that it is about. */
export type ReadAnswer = (approval: ApprovalDocument) => AnswerInput;

/** The approval of a link, and the person whose link it is. */
export interface LinkedApproval extends ApprovalInRun {
  readonly person: string;
  /** Present if they answer for someone else and can no longer do that. */
  readonly delegationEnded?: true;
}
