import type { Doc, LoadedCheckpoint, RunContext } from '../checkpoints/engine.ts';
import { randomId, toCheckpointSummary } from '../checkpoints/engine.ts';
import { WaitstateError } from '../core/errors.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { rawEntries } from '../runtime/journal/append-entries.ts';
import { type JournalEntries, pendingWaits, readJournal } from '../runtime/remote/wait.ts';
import type { SignedUrls } from '../storage/ports.ts';

/** A checkpoint as agents in other languages get it: documents, not live values. */
interface HandedContent {
  readonly checkpoint: Readonly<Record<string, unknown>>;
  /** What the run was started with. */
  readonly input?: Doc;
  /** The approvals that have ended, with what was decided. */
  readonly approvals: readonly object[];
  /** The signals that the run waited for, and those that did not come in time. */
  readonly signals: readonly object[];
  /** What the run still waits for. */
  readonly waiting: readonly string[];
}

/** The same, or where to get it when it is too large. */
export type InvocationPayload = HandedContent | (Pick<HandedContent, 'checkpoint'> & { readonly contentUrl: string });

// An asynchronous event of Lambda holds 1 MB, and other limits on the way are lower.
const INLINE_BYTES = 200 * 1024;
const MOST_BYTES = 900 * 1024;

/** What an agent needs to go on from a checkpoint. What is large is put under the run for a while, and a URL is given. */
export async function invocationPayload(
  at: RunContext,
  loaded: LoadedCheckpoint,
  signedUrls: SignedUrls | undefined,
): Promise<InvocationPayload> {
  const content = contentOf(at, loaded);
  const text = JSON.stringify(content);
  const bytes = Buffer.byteLength(text);
  if (bytes <= INLINE_BYTES) return content;
  if (loaded.cipher.isEncrypted || !signedUrls) {
    if (bytes <= MOST_BYTES) return content;
    const why = signedUrls
      ? 'it is encrypted, and outside of the table it would not be'
      : 'there is no bucket for more';
    throw new WaitstateError(
      'RECORD_TOO_LARGE',
      `Checkpoint ${loaded.record.version} of run "${at.run}" has ${bytes} bytes; at most ${MOST_BYTES} can be handed over, because ${why}. Keep large parts elsewhere.`,
      { scope: 'run' },
    );
  }
  // Nothing points at it, so the collector takes it after a day.
  const id = `handed-${randomId()}`;
  await at.payloads.put(at.partition, id, Buffer.from(text));
  const { version, meta } = loaded.record;
  return { checkpoint: { version, status: meta.status }, contentUrl: await signedUrls.get(at.partition, id) };
}

function contentOf(at: RunContext, loaded: LoadedCheckpoint): HandedContent {
  const { version, status, step, stepNumber, name, labels, savedAt } = toCheckpointSummary(at.run, loaded.record);
  const journal = readJournal(at, loaded);
  const entries = rawEntries(loaded);
  const input = entries.find(([id]) => id === '@input')?.[1].value as Doc | undefined;
  return {
    checkpoint: {
      ...{ version, status, stepNumber, labels, savedAt, state: withoutNothing(loaded.root.state) },
      toolResults: Object.fromEntries(entries.flatMap(([id, entry]) => toolResult(id, entry))),
      ...omitUndefined({ step, name, model: loaded.model }),
    },
    ...(input !== undefined && { input: withoutNothing(input) }),
    approvals: decisionsIn(journal),
    signals: entries.flatMap(([, { kind, signal, value, timedOut }]) =>
      kind === 'signal' && value !== undefined ? [signalOf(signal, value as Doc, timedOut)] : [],
    ),
    waiting: [...pendingWaits(journal)].map(([, { approval, signal }]) => approval ?? signal ?? ''),
  };
}

/** A value that is not there is null: other languages have no undefined. */
const withoutNothing = (doc: Doc): Doc => (JSON.stringify(doc) === '{"$":"undefined"}' ? null : doc);

/** The result of a tool: as it was given, where an agent elsewhere saved it, or as the journal has it. */
function toolResult(id: string, entry: Readonly<Record<string, unknown>>): (readonly [id: string, result: unknown])[] {
  if (id.startsWith('@') || entry.kind === 'approval' || entry.kind === 'signal') return [];
  return [[id, entry.kind === 'tool' && Object.hasOwn(entry, 'value') ? entry.value : entry]];
}

/** What was decided, the newest of a name last; the name is what the agent asked under, whatever became of the run since. */
const decisionsIn = (journal: JournalEntries): readonly object[] =>
  [...journal]
    .filter(([, { kind, value }]) => kind === 'approval' && value !== undefined)
    .toSorted(([, a], [, b]) => (a.order ?? 0) - (b.order ?? 0))
    .map(([id, { approval, value }]) => ({ name: id.replace(/^approval\/|#\d+$/g, ''), approval, ...Object(value) }));

const signalOf = (name: unknown, value: Doc, timedOut: unknown): object =>
  timedOut === true ? { name, timedOut } : { name, value: withoutNothing(value) };
