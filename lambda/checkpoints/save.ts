import { HoldpointError } from '../core/errors.ts';
import { escapeId } from '../core/ids.ts';
import { STATUSES, type Status } from '../core/status.ts';
import { append, beginning, type HeadChange } from './append.ts';
import type { CheckpointId, ModelParameters } from './checkpoint.ts';
import { checkSchema, encodeModel, encodeValues, NO_CONTENT } from './content.ts';
import type { RunContext } from './context.ts';
import { nameKey, readCheckpoint, summaryOf, usedAt, versionKey } from './records.ts';
import { StaleVersionError } from './stale-version-error.ts';
import { checkVersion, openTail, refuseExpired, type Tail } from './tail.ts';

/** What a checkpoint is called and what belongs to it, besides the state. */
export interface SaveFields {
  /** The name of the step that this checkpoint ends. */
  readonly step?: string;
  /** @default one more than before when there is a step */
  readonly stepNumber?: number;
  /** @default as it was; RUNNING for a new run */
  readonly status?: Status;
  /** A name of its own within the run. */
  readonly name?: string;
  /** Takes the name from the checkpoint that has it. */
  readonly moveName?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  /** Results of tools by call id; they are added to those of the run. */
  readonly toolResults?: Readonly<Record<string, unknown>>;
  /** Takes these results out of the run, or all that were there before. */
  readonly forgetToolResults?: true | readonly string[];
  readonly model?: ModelParameters;
  /** The caller's own id of this write: a second try under it, even in another process, finds the first. */
  readonly writeId?: string;
  readonly agent?: string;
  readonly owner?: string;
  readonly tags?: readonly string[];
  /** How long the run is kept after its last write. @default the store's */
  readonly retentionSeconds?: number;
  /** The checkpoint of another run that started this one; only for the first save. */
  readonly parent?: CheckpointId;
}

export interface SaveInput<State = unknown> extends SaveFields {
  readonly run: string;
  /** The version that this checkpoint follows; 0 means that the run must be new. @default what this store last loaded or saved, else 0 */
  readonly expectedVersion?: number;
  /** @default as it was */
  readonly state?: State;
}

export async function save(at: RunContext, input: Omit<SaveInput, 'run'>): Promise<Tail> {
  checkFields(input);
  const expected = input.expectedVersion ?? at.tails.held.get(at.partition)?.version ?? 0;
  checkVersion(expected, 'expectedVersion', 0);
  const found = expected === 0 ? undefined : await expectedTail(at, expected, input.writeId);
  if (found?.written) return found.written;
  return saveOn(at, found?.tail, input);
}

/** Saves on a checkpoint that was opened; on none to begin the run. */
export async function saveOn(
  at: RunContext,
  tail: Tail | undefined,
  input: Omit<SaveInput, 'run' | 'expectedVersion'>,
): Promise<Tail> {
  if (tail && isWritten(tail, input.writeId)) return tail;
  if (tail) refuseExpired(at, tail.head.meta, usedAt(tail.record.meta));
  if (tail && input.parent) throw invalid('parent', 'given with the first save of a run only', input.parent);
  const base = tail ?? (await beginning(at, input.owner));
  const changed = 'state' in input;
  const schema = !tail ? at.ladder?.current : changed ? checkSchema(at, tail) : tail.record.meta.v;
  const root = await encodeValues(at, base.sealing, tail?.root ?? NO_CONTENT, input);
  const head = headChange(at, input, tail);
  return append(at, base, { ...input, root, model: encodeModel(at, input.model), schema, head });
}

/** Whether a write under this id is what made the checkpoint. */
export const isWritten = (tail: Tail, writeId: string | undefined): boolean => tail.record.meta.w === writeId;

/** The checkpoint to write on: the one that this process holds, or the newest if it is the expected one. */
async function expectedTail(
  at: RunContext,
  expected: number,
  writeId: string | undefined,
): Promise<{ tail?: Tail; written?: Tail }> {
  const held = at.tails.held.get(at.partition);
  const isExpected = ({ record }: Tail) =>
    record.version === expected && (held?.version !== expected || held.revision === record.revision);
  const known = at.tails.fresh(at.partition, at.now());
  if (known && isExpected(known)) return { tail: known };
  const newest = await openTail(at);
  at.tails.set(at.partition, newest);
  if (isExpected(newest)) return { tail: newest };
  if (writeId !== undefined && newest.record.version > expected) {
    const [next] = await at.records.read(at.partition, [versionKey(expected + 1)]);
    if (next && readCheckpoint(next).meta.w === writeId)
      return { written: await openTail(at, { version: expected + 1 }) };
  }
  const found = newest.record.version >= expected ? summaryOf(at.run, newest.record) : undefined;
  throw new StaleVersionError(at.run, expected, found);
}

function headChange(at: RunContext, input: SaveFields, tail: Tail | undefined): HeadChange | undefined {
  const { agent, owner, tags, retentionSeconds } = input;
  const retention = retentionSeconds === undefined ? (tail ? undefined : at.retentionMs) : retentionSeconds * 1000;
  const there = tail?.head.meta;
  const change = {
    ...(agent !== undefined && agent !== there?.agent && { agent }),
    ...(owner !== undefined && owner !== there?.owner && { owner }),
    ...(tags && JSON.stringify(tags) !== JSON.stringify(there?.tags) && { tags }),
    ...(retention !== undefined && retention !== there?.retention && { retention }),
  };
  return Object.keys(change).length === 0 ? undefined : change;
}

// What is readable without opening a checkpoint is written and read with every list, and a record holds 400 KB at most.
const MOST_READABLE = 16_384;
const SHORT = `at most ${MOST_READABLE} characters as JSON`;
const isShort = (value: unknown): boolean => JSON.stringify(value).length <= MOST_READABLE;

/** Refuses fields that are not what a checkpoint takes, before anything is written. */
export function checkFields(input: SaveFields): void {
  const text = (field: keyof SaveFields, longest: number) => {
    const value = input[field];
    if (value === undefined) return;
    if (typeof value !== 'string' || value === '' || value.length > longest) {
      throw invalid(field, `text of 1 to ${longest} characters`, value);
    }
  };
  text('step', 1000);
  text('writeId', 256);
  text('agent', 256);
  if (input.owner !== undefined) escapeId('owner', input.owner);
  if (input.name !== undefined) nameKey(input.name);
  if (input.stepNumber !== undefined && !(Number.isSafeInteger(input.stepNumber) && input.stepNumber >= 0)) {
    throw invalid('stepNumber', 'a whole number from 0', input.stepNumber);
  }
  if (input.status !== undefined && !STATUSES.includes(input.status)) {
    throw invalid('status', `one of ${STATUSES.join(', ')}`, input.status);
  }
  if (
    input.labels !== undefined &&
    !(isRecord(input.labels, (value) => typeof value === 'string') && isShort(input.labels))
  ) {
    throw invalid('labels', `an object whose values are text, ${SHORT}`, input.labels);
  }
  if (input.toolResults !== undefined && !isRecord(input.toolResults, () => true)) {
    throw invalid('toolResults', 'an object of results by call id', input.toolResults);
  }
  const { forgetToolResults: forget } = input;
  if (
    forget !== undefined &&
    forget !== true &&
    !(Array.isArray(forget) && forget.every((id) => typeof id === 'string'))
  ) {
    throw invalid('forgetToolResults', 'true or a list of call ids', forget);
  }
  if (
    input.tags !== undefined &&
    !(
      Array.isArray(input.tags) &&
      input.tags.every((tag) => typeof tag === 'string' && tag !== '') &&
      isShort(input.tags)
    )
  ) {
    throw invalid('tags', `a list of texts, ${SHORT}`, input.tags);
  }
  if (input.model !== undefined && !isRecord(input.model, () => true))
    throw invalid('model', 'an object of parameters', input.model);
  const { retentionSeconds } = input;
  if (retentionSeconds !== undefined) checkRetention(retentionSeconds);
  if (input.parent !== undefined) {
    escapeId('parent run', input.parent.run);
    checkVersion(input.parent.version, 'version of the parent');
  }
}

export function checkRetention(seconds: number): number {
  if (typeof seconds === 'number' && seconds > 0 && Number.isFinite(seconds)) return seconds;
  throw invalid('retentionSeconds', 'a number of seconds above 0', seconds);
}

function isRecord(value: unknown, each: (value: unknown) => boolean): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(each);
}

function invalid(field: string, expected: string, found: unknown): HoldpointError {
  const shown = typeof found === 'object' ? JSON.stringify(found) : String(found);
  return new HoldpointError('INVALID_INPUT', `\`${field}\` must be ${expected}; found ${shown?.slice(0, 80)}.`);
}
