import {
  type CheckpointRecord,
  type CheckpointSummary,
  checkLive,
  cipherFor,
  type Doc,
  decryptBody,
  isList,
  parse,
  type RunCipher,
  type RunContext,
  readCheckpoint,
  readHead,
  readLiveHead,
  sideText,
  toCheckpointSummary,
} from '../checkpoints/engine.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { hasEnded, type Status } from '../core/status.ts';
import { HEAD_KEY, LIVE_OUTPUT_KEYS, liveOutputKey, MAX_VERSION, versionKey } from '../storage/keys.ts';
import type { StoredRecord } from '../storage/ports.ts';
import { checkLimit } from './check-limit.ts';

/** Something that happened in a run, in the order in which readers get it. */
export type RunEvent =
  /** An event that the agent emitted, recorded with the checkpoint `version`. */
  | {
      readonly type: 'event';
      readonly id: string;
      readonly version: number;
      readonly at: Date;
      readonly data: Doc;
      readonly step?: string;
      readonly attempt?: number;
    }
  /** A checkpoint. It comes after the events that were recorded with it. */
  | { readonly type: 'checkpoint'; readonly id: string; readonly checkpoint: CheckpointSummary }
  /** Output of a step that is running: best effort, replaced by the checkpoint that records the step. */
  | {
      readonly type: 'output';
      readonly step: string;
      readonly attempt: number;
      /** Counts from 0 in each attempt; a gap means that output is missing. */
      readonly number: number;
      readonly output: readonly Doc[];
    };

/** A page of the events of a run. */
export interface RunEventsPage {
  readonly events: readonly RunEvent[];
  /** Pass it as `after` to get what comes next. */
  readonly cursor: string;
  /** The status of the run now; a run can become ready without a new checkpoint. */
  readonly status: Status;
  /** Whether more events are stored; `status` is then later than the events of this page. */
  readonly hasMore: boolean;
  /** Whether the run has ended and there are no more events. It can be opened again by a retry or a rewind. */
  readonly hasEnded: boolean;
}

export interface RunEventsQuery {
  /** The cursor of an earlier page, or the id of an event. @default from the beginning */
  readonly after?: string | undefined;
  /** How many checkpoints a page reads. @default 100, which is also the most */
  readonly limit?: number | undefined;
  /** Whether to include the output of running steps, which takes a second request. @default false */
  readonly includeOutput?: boolean | undefined;
}

const MAX_CHECKPOINTS = 100;
const MAX_OUTPUTS = 100;
const MAX_PAGE_CHARACTERS = 1_000_000;

/** Loads the events after a cursor in one request, which reads only new checkpoints and the head. */
export async function loadRunEvents(at: RunContext, query: RunEventsQuery): Promise<RunEventsPage> {
  const { after, limit = MAX_CHECKPOINTS, includeOutput = false } = query;
  checkLimit(limit, MAX_CHECKPOINTS);
  const position = parseCursor(after);
  const { version, emitted } = position;
  // Output is shown from the last checkpoint on, so its time is needed at first.
  const from = includeOutput && version > 0 && position.outputKey === undefined ? version : version + 1;
  const range = { from: versionKey(Math.min(from, MAX_VERSION)), to: HEAD_KEY, limit: limit + 2 };
  const { records } = await at.records.range(at.partition, range);
  const storedHead = records.find(({ key }) => key === HEAD_KEY);
  const head = storedHead ? readHead(storedHead) : await readLiveHead(at);
  if (storedHead) await checkLive(at, head.meta);
  const checkpoints = records.filter(({ key }) => key !== HEAD_KEY).map(readCheckpoint);
  const newer = checkpoints.filter((checkpoint) => checkpoint.version > version).slice(0, limit);
  const cipher = await cipherFor(at, head.meta);
  const page = takePage(newer.map((checkpoint) => toEvents(at, cipher, checkpoint)));
  const last = newer[page.length - 1]?.version ?? version;
  // A query is no snapshot: the head may be newer than the checkpoints that were read.
  const hasMore = !storedHead || last < Math.max(head.meta.version, checkpoints.at(-1)?.version ?? 0);
  const output =
    includeOutput && !hasMore
      ? await readOutput(at, cipher, head.meta.status, position.outputKey ?? outputKeyAfter(checkpoints.at(-1)))
      : undefined;
  return {
    events: [...page.flat().slice(emitted), ...(output?.events ?? [])],
    cursor: formatCursor({
      ...(page.length > 0 ? { version: last, emitted: 0 } : { version, emitted }),
      outputKey: output?.lastKey ?? position.outputKey,
    }),
    status: head.meta.status,
    hasMore,
    hasEnded: hasEnded(head.meta.status) && !hasMore,
  };
}

/** As many checkpoints as fit into a response; at least one. */
function takePage(checkpoints: readonly (readonly RunEvent[])[]): readonly (readonly RunEvent[])[] {
  let characters = 0;
  const end = checkpoints.findIndex((events, i) => {
    characters += JSON.stringify(events).length;
    return i > 0 && characters > MAX_PAGE_CHARACTERS;
  });
  return end < 0 ? checkpoints : checkpoints.slice(0, end);
}

function toEvents(at: RunContext, cipher: RunCipher, record: CheckpointRecord): readonly RunEvent[] {
  const { version, meta } = record;
  const emitted = meta.emptied ? undefined : decryptBody(cipher, record).e;
  const list = emitted !== undefined && isList(emitted) ? emitted : [];
  const id = String(version);
  return [
    ...list.map((doc, i) => toEmittedEvent(doc, version, `${version - 1}.${i + 1}`)),
    { type: 'checkpoint', id, checkpoint: toCheckpointSummary(at.run, record) },
  ];
}

function toEmittedEvent(doc: Doc, version: number, id: string): RunEvent {
  const [time, data = null, step, attempt] = isList(doc) ? doc : [];
  const origin = typeof step === 'string' && typeof attempt === 'number' ? { step, attempt } : {};
  return { type: 'event', id, version, at: new Date(Number(time)), data, ...origin };
}

const outputKeyAfter = (newest: CheckpointRecord | undefined): string => liveOutputKey(newest?.meta.time ?? 0);

/** Reads the output of running steps after a key. */
async function readOutput(
  at: RunContext,
  cipher: RunCipher,
  status: Status,
  after: string,
): Promise<{ readonly events: readonly RunEvent[]; readonly lastKey: string }> {
  if (!RUNNING_STATUSES.has(status)) return { events: [], lastKey: after };
  const page = await at.records.range(at.partition, { from: after, to: LIVE_OUTPUT_KEYS.to, limit: MAX_OUTPUTS });
  const records = page.records.filter(({ key }) => key > after);
  const events = await Promise.all(records.map((record) => toOutputEvent(at, cipher, record)));
  return { events, lastKey: records.at(-1)?.key ?? after };
}

const RUNNING_STATUSES: ReadonlySet<Status> = new Set(['RUNNING', 'ENDING']);

async function toOutputEvent(at: RunContext, cipher: RunCipher, record: StoredRecord): Promise<RunEvent> {
  const { step, attempt, number, output } = parse(
    (await sideText(at, cipher, record)) ?? '{}',
  ) as unknown as StoredOutput;
  return { type: 'output', step, attempt, number, output };
}

type StoredOutput = Omit<Extract<RunEvent, { readonly type: 'output' }>, 'type'>;

/** Where a reader is: the last checkpoint, how many events of the next one it has, and the last output. */
interface Position {
  readonly version: number;
  readonly emitted: number;
  readonly outputKey: string | undefined;
}

const formatCursor = ({ version, emitted, outputKey }: Position): string =>
  `${version}${emitted > 0 ? `.${emitted}` : ''}${outputKey === undefined ? '' : `~${outputKey.slice(1)}`}`;

function parseCursor(cursor = '0'): Position {
  const [, version, emitted = 0, output] = /^(\d{1,10})(?:\.(\d{1,3}))?(?:~(\d{15}[\w-]{0,20}))?$/.exec(cursor) ?? [];
  if (version === undefined)
    throw invalidInput('`after`', 'the cursor of an earlier page or the id of an event', cursor);
  const outputKey = output === undefined ? undefined : LIVE_OUTPUT_KEYS.from + output;
  return { version: Number(version), emitted: Number(emitted), outputKey };
}
