import type { Checkpoint } from '../../checkpoints/engine.ts';
import { WaitstateError } from '../../core/errors.ts';

/** What kinds of operations a journal has. */
export type EntryKind =
  | 'step'
  | 'tool'
  | 'update'
  | 'now'
  | 'sleep'
  | 'signal'
  | 'approval'
  | 'call'
  | 'branches'
  | 'checkpoint'
  | 'undo'
  | 'input'
  | 'result'
  | 'cache'
  | 'cursor';

/** What the journal has of one operation: how it ended (`value` or `error`), or what it waits for. */
export interface Entry {
  readonly kind: EntryKind;
  /** Of the arguments, where there are any. */
  readonly hash?: string;
  readonly value?: unknown;
  readonly error?: unknown;
  /** An input or a signal that came from where the agent's schemas are not known. */
  readonly unchecked?: true;
  /** The order in which operations ended. */
  readonly seq?: number;
  /** The order in which operations began to wait, or ended with something to undo. */
  readonly order?: number;
  /** That the step can be undone. */
  readonly undo?: true;
  /** A step: how often it failed, when it is tried again; that an attempt began of which nobody knows the end. */
  readonly failures?: number;
  readonly retryAt?: number;
  readonly because?: string;
  readonly begun?: number;
  /** A sleep, or the wait for a signal: until when. */
  readonly until?: number;
  readonly signal?: string;
  readonly timedOut?: true;
  /** An approval: its id, how often it was asked, what was decided when the facts must still be looked at. */
  readonly approval?: string;
  readonly ask?: number;
  readonly facts?: unknown;
  readonly rechecks?: true;
  readonly decided?: unknown;
  /** A child run, and that it was there before the call. */
  readonly child?: string;
  readonly existed?: true;
  /** When to look after it, though it has not told its end. */
  readonly checkAt?: number;
  /** A call of a tool whose value is kept in the cache under this name. */
  readonly cached?: string;
  /** When a cached value was made. */
  readonly at?: number;
  /** The error of a run: the operations at which it came up, and what could not be undone. */
  readonly failedAt?: readonly string[];
  readonly notUndone?: readonly string[];
  /** The last event that was used, and everything before it; the turn that comes next. */
  readonly cursor?: number;
}

/** Whether an operation is over. */
export const hasSettled = (entry: Partial<Entry>): boolean =>
  ['value', 'error', 'cached'].some((field) => Object.hasOwn(entry, field));

/** Whether an identity is of something that the agent did, and not one of the runtime's own. */
export const isOperationId = (id: string): boolean => !id.startsWith('@') || /^@(update|now|checkpoint)(#|$)/.test(id);

/** Whether the end of a run has to do with it: a step that is to be undone, or a child that nobody will wait for. */
export const needsCleanup = (entry: Partial<Entry>): boolean =>
  entry.undo === true || (entry.kind === 'call' && !hasSettled(entry));

/** The place of the operation that ended last. */
export const lastSeq = (journal: ReadonlyMap<string, Entry>): number =>
  [...journal.values()].reduce((last, { seq: place = 0 }) => Math.max(last, place), 0);

/** Refuses an entry of another operation: the code was changed in a way that its journal does not fit. */
export function checkEntry(id: string, entry: Entry, kind: EntryKind, hash: string | undefined): void {
  if (entry.kind !== kind) throw nonDeterminismError(id, `is a ${kind} in this code`, `a ${entry.kind} was recorded`);
  if (entry.hash !== hash)
    throw nonDeterminismError(
      id,
      `has arguments with hash ${hash ?? 'none'} in this code`,
      `${entry.hash ?? 'none'} was recorded`,
    );
}

export const nonDeterminismError = (id: string, expected: string, found: string): WaitstateError =>
  new WaitstateError(
    'STEP_MISMATCH',
    `Operation "${id}" ${expected}, but ${found}: the code changed under a run that was on its way. Nothing was run or undone. Deploy code that fits and \`retry\` the run, or \`rewind\` it to before.`,
    { scope: 'run' },
  );

/** The entry that says which events were used. */
export const CURSOR_ID = '@cursor';

/** The result or the error of a run that has ended. */
export function resultOrError({ toolResults }: Checkpoint): Pick<Entry, 'value' | 'error'> {
  const result = toolResults['@result'] as Entry | undefined;
  const failure = toolResults['@error'] as Entry | undefined;
  return failure ? { error: failure.error } : { value: result?.value };
}
