import type { Checkpoint } from '../../checkpoints/engine.ts';
import { WaitstateError } from '../../core/errors.ts';
import type { BranchCount } from './branch-count.ts';

/** What every entry may have. An entry with neither a value nor an error waits, or is retried. */
interface EntryBase {
  /** The hash of the arguments, where there are any. */
  readonly hash?: string;
  readonly value?: unknown;
  readonly error?: unknown;
  /** The order in which operations completed. */
  readonly seq?: number;
  /** The order in which operations began to wait, or completed with something to undo. */
  readonly order?: number;
  /** Whether another operation of its scope was outstanding when this one began to wait, or completed. */
  readonly concurrent?: true;
}

/** A step, a tool call, or the undo of a step. */
export interface StepEntry extends EntryBase {
  readonly kind: 'step' | 'tool' | 'undo';
  /** Whether the step can be undone. */
  readonly undo?: true;
  /** The number of failed attempts, when the next one is, and why the last one failed. */
  readonly failures?: number;
  readonly retryAt?: number;
  readonly lastFailure?: string;
  /** The number of attempts that began, for a step that may run only once. */
  readonly startedAttempts?: number;
  /** The id of the cache entry that holds the value of a tool call. */
  readonly cached?: string;
}

/** `ctx.sleep` */
export interface SleepEntry extends EntryBase {
  readonly kind: 'sleep';
  readonly until: number;
}

/** `ctx.waitForSignal` */
interface SignalEntry extends EntryBase {
  readonly kind: 'signal';
  readonly signal: string;
  readonly until?: number;
  readonly timedOut?: true;
  /** Whether the sender did not know the agent's schema, so that the agent has to check the value. */
  readonly unchecked?: true;
}

/** `ctx.approval` */
export interface ApprovalEntry extends EntryBase {
  readonly kind: 'approval';
  /** The id of the approval, and how often it was requested. */
  readonly approval: string;
  readonly requestNumber?: number;
  readonly facts?: unknown;
  /** Whether it is a question. */
  readonly question?: true;
  readonly rechecks?: true;
  /** The decision, while its facts still have to be checked again. */
  readonly decided?: unknown;
}

/** `ctx.call` */
interface CallEntry extends EntryBase {
  readonly kind: 'call';
  /** The child run, and whether it existed before the call. */
  readonly child: string;
  readonly existed?: true;
  /** When to check the child, in case its end was not reported. */
  readonly checkAt?: number;
}

/** `ctx.all` and `ctx.map`: the count of a group of branches. */
interface BranchesEntry extends EntryBase {
  readonly kind: 'branches';
  readonly value: BranchCount;
}

/** `ctx.update`, `ctx.now` and `ctx.checkpoint` */
export interface SmallEntry extends EntryBase {
  readonly kind: 'update' | 'now' | 'checkpoint';
}

/** The input of the run. */
export interface InputEntry extends EntryBase {
  readonly kind: 'input';
  /** Whether the run was started without the agent's schema, so that the agent has to check the input. */
  readonly unchecked?: true;
  /** The hashes of the request, if the run was started with an idempotency key. */
  readonly request?: { readonly key: string; readonly body: string };
}

/** The result or the error of the run. */
export interface ResultEntry extends EntryBase {
  readonly kind: 'result';
  /** The operations that the error came from, and the steps that could not be undone. */
  readonly failedOperations?: readonly string[];
  readonly notUndone?: readonly string[];
}

/** A value in the cache of tools. */
export interface CacheEntry extends EntryBase {
  readonly kind: 'cache';
  /** When the value was made. */
  readonly at?: number;
}

/** A position: the last event that was used, or the next turn. */
interface CursorEntry extends EntryBase {
  readonly kind: 'cursor';
  readonly cursor: number;
}

/** How many events of each scope are recorded, so that a replay does not record them again. */
export interface EmittedEntry extends EntryBase {
  readonly kind: 'emitted';
  readonly value: Readonly<Record<string, number>>;
}

/** What the journal has of one operation: how it completed, or what it waits for. */
export type Entry =
  | StepEntry
  | SleepEntry
  | SignalEntry
  | ApprovalEntry
  | CallEntry
  | BranchesEntry
  | SmallEntry
  | InputEntry
  | ResultEntry
  | CacheEntry
  | CursorEntry
  | EmittedEntry;

export type EntryKind = Entry['kind'];

/** The entries of one kind. */
export type EntryOf<Kind extends EntryKind, Each = Entry> = Each extends Entry
  ? Kind extends Each['kind']
    ? Each
    : never
  : never;

/** Whether an operation has completed. */
export const hasSettled = (entry: object): boolean =>
  ['value', 'error', 'cached'].some((field) => Object.hasOwn(entry, field));

/** The name of a wait, as the history shows it: `signal seat`, or `retry pay` for a step that is retried. */
export const waitName = (id: string, { kind }: Pick<Entry, 'kind'>): string =>
  `${kind === 'step' || kind === 'tool' || kind === 'undo' ? 'retry' : kind} ${id}`;

/** Whether an id is of an operation of the agent, and not of an entry of the runtime. */
export const isOperationId = (id: string): boolean => !id.startsWith('@') || /^@(update|now|checkpoint)(#|$)/.test(id);

/** Whether the end of a run has to clean up after an entry: a step to undo, or a child run to cancel. */
export const needsCleanup = (entry: object): boolean =>
  isUndoable(entry) || ('kind' in entry && entry.kind === 'call' && !hasSettled(entry));

/** Whether an entry is of a step that can be undone. */
export const isUndoable = (entry: object): entry is StepEntry => 'undo' in entry && entry.undo === true;

/** The sequence number of the operation that completed last. */
export const lastSeq = (journal: ReadonlyMap<string, Entry>): number =>
  [...journal.values()].reduce((last, { seq = 0 }) => Math.max(last, seq), 0);

/** Refuses an entry of another operation: the code has changed and no longer matches the journal. */
export function checkEntry(id: string, entry: Entry, kind: EntryKind, hash: string | undefined): void {
  if (entry.kind !== kind) throw nonDeterminismError(id, `is a ${kind} in this code`, `a ${entry.kind} was recorded`);
  if (entry.hash !== hash)
    throw nonDeterminismError(
      id,
      `has arguments with hash ${hash ?? 'none'} in this code`,
      `${entry.hash ?? 'none'} was recorded`,
    );
}

/** The error of code that calls another operation than the journal has, with the usual causes. */
export const nonDeterminismError = (id: string, expected: string, found: string): WaitstateError =>
  new WaitstateError(
    'STEP_MISMATCH',
    `Operation "${id}" ${expected}, but ${found}: the code does not match the journal of the run. Nothing was run or undone. Usual causes: \`Math.random()\`, \`Date.now()\`, a fetch or another read outside a step, or changed code. Use \`ctx.random()\`, \`ctx.now()\` and \`ctx.step\` instead, or deploy code that matches. Then \`retry\` the run, or \`rewind\` it.`,
    { scope: 'run' },
  );

/** The id of the entry that counts the emitted events. */
export const EMITTED_ID = '@emitted';

/** The id of the entry that says which events were used. */
export const CURSOR_ID = '@cursor';

/** The result or the error of a run that has ended. */
export function resultOrError({ toolResults }: Checkpoint): Pick<Entry, 'value' | 'error'> {
  const result = toolResults['@result'] as ResultEntry | undefined;
  const failure = toolResults['@error'] as ResultEntry | undefined;
  return failure ? { error: failure.error } : { value: result?.value };
}

/** The entry of a kind under an id; undefined when there is none. */
export function entryOf<Kind extends EntryKind>(
  journal: ReadonlyMap<string, Entry>,
  id: string,
  kind: Kind,
): EntryOf<Kind> | undefined {
  const entry = journal.get(id);
  return entry?.kind === kind ? (entry as EntryOf<Kind>) : undefined;
}
