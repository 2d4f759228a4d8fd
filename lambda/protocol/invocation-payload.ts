import {
  type Doc,
  type LoadedCheckpoint,
  type RunContext,
  randomId,
  toCheckpointSummary,
} from '../checkpoints/engine.ts';
import type { Person } from '../core/approval.ts';
import { WaitstateError } from '../core/errors.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { describeError } from '../operator/run-view.ts';
import { rawEntries } from '../runtime/journal/append-entries.ts';
import { type Entry, hasSettled } from '../runtime/journal/entries.ts';
import { type JournalEntries, pendingWaits, readJournal } from '../runtime/remote/wait.ts';
import { INVOCATION_ID_PREFIX } from '../storage/keys.ts';
import type { SignedUrls } from '../storage/ports.ts';

/** A checkpoint for agents in other languages: documents instead of values. */
interface PayloadContent {
  readonly checkpoint: Readonly<Record<string, unknown>> & { readonly version: number };
  /** The input of the run. */
  readonly input?: Doc;
  /** The person who requested the run. */
  readonly requestedBy?: Person;
  /** The approvals that have ended, with their decisions. */
  readonly approvals: readonly object[];
  /** The signals that the run waited for, received or timed out. */
  readonly signals: readonly object[];
  /** The sleeps that are over, and the child runs that have ended. */
  readonly sleeps: readonly object[];
  readonly calls: readonly object[];
  /** The ids of pending approvals, and the names of signals, sleeps and calls that the run waits for. */
  readonly waiting: readonly string[];
}

/** The content, or a URL for it if it is too large. */
export type InvocationPayload = PayloadContent | (Pick<PayloadContent, 'checkpoint'> & { readonly contentUrl: string });

// An asynchronous Lambda event can have 1 MB, and other limits on the way are lower.
const MAX_INLINE_BYTES = 200 * 1024;
const MAX_EVENT_BYTES = 900 * 1024;

/** How large content is sent. */
export interface PayloadLimits {
  /** Transfers content of more than 200 KB. @default it is sent inline */
  readonly signedUrls: SignedUrls | undefined;
  /** The most bytes that can be sent inline. @default 900 KB, for an asynchronous Lambda event */
  readonly maxBytes?: number;
}

/** The payload that resumes a remote agent at a checkpoint. Large content is stored for a day, and passed as a URL. */
export async function invocationPayload(
  at: RunContext,
  loaded: LoadedCheckpoint,
  { signedUrls, maxBytes = MAX_EVENT_BYTES }: PayloadLimits,
): Promise<InvocationPayload> {
  const content = toPayloadContent(at, loaded);
  const text = JSON.stringify(content);
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_INLINE_BYTES) return content;
  if (loaded.cipher.isEncrypted || !signedUrls) {
    if (bytes <= maxBytes) return content;
    const why = signedUrls
      ? 'the run is encrypted, and a download would not be'
      : 'there is no bucket for larger content';
    throw new WaitstateError(
      'RECORD_TOO_LARGE',
      `Checkpoint ${loaded.record.version} of run "${at.run}" has ${bytes} bytes; at most ${maxBytes} can be sent to the agent, because ${why}. Store large parts elsewhere.`,
      { scope: 'run' },
    );
  }
  // No record points at it, so the collector removes it after a day.
  const id = INVOCATION_ID_PREFIX + randomId();
  await at.payloads.put(at.partition, id, Buffer.from(text));
  const { version, meta } = loaded.record;
  return { checkpoint: { version, status: meta.status }, contentUrl: await signedUrls.get(at.partition, id) };
}

function toPayloadContent(at: RunContext, loaded: LoadedCheckpoint): PayloadContent {
  const { version, status, step, stepNumber, name, labels, savedAt } = toCheckpointSummary(at.run, loaded.record);
  const journal = readJournal(at, loaded);
  const entries = rawEntries(loaded);
  const waits = entries.toSorted(([, a], [, b]) => Number(a.order ?? 0) - Number(b.order ?? 0));
  const input = entries.find(([id]) => id === '@input')?.[1].value as Doc | undefined;
  return {
    checkpoint: {
      version,
      status,
      stepNumber,
      labels,
      savedAt,
      state: undefinedToNull(loaded.root.state),
      toolResults: Object.fromEntries(entries.flatMap(([id, entry]) => toToolResult(id, entry))),
      ...omitUndefined({ step, name, model: loaded.model }),
    },
    ...(input !== undefined && { input: undefinedToNull(input) }),
    ...omitUndefined({ requestedBy: loaded.head.meta.requestedBy }),
    approvals: toDecisions(journal),
    signals: waits.flatMap(([, { kind, signal, value, timedOut }]) =>
      kind === 'signal' && value !== undefined ? [toSignal(signal, value as Doc, timedOut)] : [],
    ),
    sleeps: inOrder(journal).flatMap(({ id, kind }) => (kind === 'sleep' ? { name: nameOf(id) } : [])),
    calls: waits.flatMap(([id, entry]) => (entry.kind === 'call' ? toCall(id, entry) : [])),
    waiting: [...pendingWaits(journal)].map(([id, entry]) =>
      entry.kind === 'approval' ? entry.approval : entry.kind === 'signal' ? entry.signal : nameOf(id),
    ),
  };
}

/** Replaces undefined by null, because other languages have no undefined. */
const undefinedToNull = (doc: Doc): Doc => (JSON.stringify(doc) === '{"$":"undefined"}' ? null : doc);

const WAIT_KINDS: ReadonlySet<unknown> = new Set(['approval', 'signal', 'sleep', 'call'] satisfies Entry['kind'][]);

/** A tool result: the value that a remote agent saved, or else the journal entry. */
function toToolResult(
  id: string,
  entry: Readonly<Record<string, unknown>>,
): (readonly [id: string, result: unknown])[] {
  if (id.startsWith('@') || WAIT_KINDS.has(entry.kind)) return [];
  return [[id, entry.kind === 'tool' && Object.hasOwn(entry, 'value') ? entry.value : entry]];
}

/** The decisions, the newest of each name last; the name is the one in the request, also after a rewind. */
const toDecisions = (journal: JournalEntries): readonly object[] =>
  inOrder(journal).flatMap((entry) =>
    entry.kind === 'approval' && entry.value !== undefined
      ? [{ name: nameOf(entry.id), approval: entry.approval, ...Object(entry.value) }]
      : [],
  );

/** The waits of a run that have settled, in the order in which they began. */
const inOrder = (journal: JournalEntries): readonly (Entry & { readonly id: string })[] =>
  [...journal]
    .flatMap(([id, entry]) => (WAIT_KINDS.has(entry.kind) && hasSettled(entry) ? [{ id, ...entry }] : []))
    .toSorted((a, b) => (a.order ?? 0) - (b.order ?? 0));

/** The name that a request gave to a wait; the second one of a name has the same. */
const nameOf = (id: string): string => id.replace(/^(approval|signal|sleep|call)\/|#\d+$/g, '');

/** A child run that has ended. */
function toCall(id: string, { child, value, error }: Readonly<Record<string, unknown>>): readonly object[] {
  if (error !== undefined)
    return [{ name: nameOf(id), run: child, status: 'FAILED', error: describeError(error as Doc) }];
  if (value === undefined) return [];
  return [{ name: nameOf(id), run: child, status: 'SUCCEEDED', result: undefinedToNull(value as Doc) }];
}

const toSignal = (name: unknown, value: Doc, timedOut: unknown): object =>
  timedOut === true ? { name, timedOut } : { name, value: undefinedToNull(value) };
