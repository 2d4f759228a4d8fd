import {
  type Doc,
  isFields,
  partOf,
  type RunContext,
  readNewest,
  runNotFound,
  toRunSummary,
} from '../checkpoints/engine.ts';
import { loadNewestWithin } from '../checkpoints/operations/operations.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { isPaused } from '../runtime/control/pause-agent.ts';
import { rawEntries } from '../runtime/journal/append-entries.ts';
import { hasSettled } from '../runtime/journal/entries.ts';
import type { ChildRun, ErrorCause, RunPosition, RunView, Wait } from './operator.ts';

type Entry = Readonly<Record<string, unknown>>;

/** Reads where a run is, without its content. */
export async function loadRunPosition(at: RunContext): Promise<RunPosition> {
  const found = await readNewest(at);
  if (!found) throw runNotFound(at);
  return { status: found.head.meta.status, version: found.newest.version };
}

/** Loads the operator's view of a run from its head and its newest checkpoint; without content above `maxBytes`. */
export async function loadRunView(at: RunContext, maxBytes = Infinity): Promise<RunView> {
  const { head, record, loaded, contentBytes } = await loadNewestWithin(at, maxBytes);
  const { meta } = head;
  const { work } = meta;
  const { version } = record;
  const entries = new Map(loaded && rawEntries(loaded));
  const error = entries.get('@error');
  return {
    ...toRunSummary(at.partition, meta),
    version,
    stepNumber: record.meta.stepNumber,
    isDurable: work !== undefined,
    isPaused: meta.status === 'READY' && meta.agent !== undefined && (await isPaused(at, meta.agent)),
    deliveries: work?.deliveries ?? 0,
    pendingApprovals: work?.approvals ?? [],
    waits: [...entries].flatMap(toWaits),
    children: [...entries].flatMap(toChildren),
    ...omitUndefined({
      step: record.meta.step ?? meta.step,
      lease: work?.lease && { by: work.lease.by, until: new Date(work.lease.until) },
      dueAt: toDate(work?.dueAt),
      deadline: toDate(work?.deadline),
      leftOutBytes: loaded ? undefined : contentBytes,
      input: entries.get('@input')?.value as Doc | undefined,
      result: entries.get('@result')?.value as Doc | undefined,
      error: error && toRunError(error),
    }),
  };
}

/** The wait of a journal entry; none if the entry does not wait. */
function toWaits([id, entry]: readonly [id: string, entry: Entry]): readonly Wait[] {
  if (id.startsWith('@') || hasSettled(entry)) return [];
  const until = omitUndefined({ until: toDate(entry.until ?? entry.retryAt) });
  switch (entry.kind) {
    case 'approval':
      return [{ kind: 'approval', name: String(entry.approval ?? id) }];
    case 'signal':
      return [{ kind: 'signal', name: String(entry.signal ?? id), ...until }];
    case 'sleep':
      return [{ kind: 'sleep', name: id, ...until }];
    case 'call':
      return [{ kind: 'call', name: String(entry.child ?? id) }];
    default:
      return entry.retryAt === undefined ? [] : [{ kind: 'retry', name: id, ...until, ...toFailures(entry) }];
  }
}

const toFailures = ({ failures, lastFailure }: Entry): Pick<Wait, 'failures' | 'lastFailure'> =>
  omitUndefined({
    failures: typeof failures === 'number' ? failures : undefined,
    lastFailure: typeof lastFailure === 'string' ? lastFailure : undefined,
  });

/** The run that a journal entry called. */
function toChildren([name, entry]: readonly [id: string, entry: Entry]): readonly ChildRun[] {
  if (entry.kind !== 'call' || typeof entry.child !== 'string') return [];
  const status = Object.hasOwn(entry, 'error') ? 'failed' : hasSettled(entry) ? 'succeeded' : 'waiting';
  return [{ name, run: entry.child, status }];
}

function toRunError({ error, failedOperations, notUndone }: Entry): NonNullable<RunView['error']> {
  const doc = error as Doc | undefined;
  return {
    ...describeError(doc),
    ...omitUndefined({ reason: textField(doc, 'reason'), stack: textField(doc, 'stack') }),
    causes: findCauses(doc),
    failedOperations: toStrings(failedOperations),
    notUndone: toStrings(notUndone),
  };
}

/** The name, message and code of a stored error. */
export function describeError(doc: Doc | undefined): ErrorCause {
  const name = partOf(doc, 'error', 1) ?? 'Error';
  const message = partOf(doc, 'error', 2) ?? (typeof doc === 'string' ? doc : JSON.stringify(doc ?? null));
  return { name: String(name), message: String(message), ...omitUndefined({ code: textField(doc, 'code') }) };
}

/** A text field of an error, such as its code. */
function textField(error: Doc | undefined, key: string): string | undefined {
  const fields = partOf(error, 'error', 3);
  return isFields(fields) && typeof fields[key] === 'string' ? fields[key] : undefined;
}

const MAX_CAUSES = 5;

/** The chain of causes of an error. */
function findCauses(error: Doc | undefined): readonly ErrorCause[] {
  const causes: ErrorCause[] = [];
  for (let doc = causeOf(error); doc !== undefined && causes.length < MAX_CAUSES; doc = causeOf(doc))
    causes.push(describeError(doc));
  return causes;
}

function causeOf(error: Doc | undefined): Doc | undefined {
  const fields = partOf(error, 'error', 3);
  return isFields(fields) && fields.cause !== undefined && fields.cause !== null ? fields.cause : undefined;
}

const toStrings = (list: unknown): readonly string[] => (Array.isArray(list) ? list.map(String) : []);

const toDate = (time: unknown): Date | undefined => (Number.isFinite(time) ? new Date(Number(time)) : undefined);
