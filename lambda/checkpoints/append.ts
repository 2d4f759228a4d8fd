import { checkTransition } from '../core/status.ts';
import type { Write } from '../storage/ports.ts';
import type { CheckpointFields, CheckpointKind } from './checkpoint.ts';
import { commitCheckpoint, createHeadMove, type HeadUpdate, nextMeta, type Predecessor } from './commit.ts';
import type { RunContext } from './context.ts';
import type { Doc } from './document/document.ts';
import { payloadRefs } from './document/payloads.ts';
import { importRunKey } from './encryption/cipher-for.ts';
import { plaintext, type RunCipher } from './encryption/run-cipher.ts';
import { encryptBody, writeContent } from './format/chain.ts';
import { type CheckpointMeta, DEFAULT_META } from './format/meta.ts';
import { checkpointRecord, randomId } from './format/records.ts';
import type { Content, Root } from './format/root.ts';
import type { SchemaVersion } from './format/schema.ts';
import { loadCheckpoint } from './load.ts';
import type { LoadedCheckpoint } from './loaded-checkpoint.ts';

/** The content and the fields of the next checkpoint. */
export interface CheckpointChange extends CheckpointFields {
  readonly root: Root;
  readonly model: Doc | undefined;
  /** Events of the agent, which only this checkpoint has. */
  readonly events?: Doc | undefined;
  readonly schema: SchemaVersion | undefined;
  readonly kind?: CheckpointKind | undefined;
  readonly restored?: number | undefined;
  readonly top?: number | undefined;
  readonly head?: HeadUpdate | undefined;
  /** Side records to write in the same transaction. */
  readonly sideWrites?: readonly Write[] | undefined;
}

/** The predecessor of a checkpoint, with its content if there is any. */
export type Base = Predecessor & { readonly cipher: RunCipher; readonly content: Content | undefined };

export const toBase = (loaded: LoadedCheckpoint): Base => ({ ...loaded, content: loaded });

/** The base of a new run: version 0, with a new data key if the store encrypts. */
export async function createBase(at: RunContext, owner: string | undefined): Promise<Base> {
  const { cipher, key } = at.keys
    ? await (await importRunKey()).createRunKey(at, owner)
    : { cipher: plaintext, key: undefined };
  const uid = randomId();
  return {
    record: { version: 0, hash: uid, meta: DEFAULT_META },
    head: { newRun: { uid, key } },
    cipher,
    content: undefined,
  };
}

const REOPENING_KINDS: ReadonlySet<CheckpointKind | undefined> = new Set(['rewind', 'undo', 'redo', 'retry']);

/** Writes the next checkpoint, or throws StaleVersionError without changing anything. */
export async function append(at: RunContext, base: Base, change: CheckpointChange): Promise<LoadedCheckpoint> {
  const { record: before, content, cipher } = base;
  const { root, model, head: headUpdate, moveName: _, sideWrites, ...fields } = change;
  const status = change.status ?? before.meta.status;
  const reopen = REOPENING_KINDS.has(change.kind);
  if (before.version > 0) checkTransition(at.run, before.meta.status, status, { reopen });
  const version = before.version + 1;
  // A chain never crosses a schema version.
  const patchBase = before.meta.schema === change.schema ? content : undefined;
  const written = await writeContent(at, cipher, version, change, patchBase);
  const meta = nextMeta(at, before, {
    ...fields,
    ...payloadChanges(content?.root, root),
    ...written.meta,
    status,
    stepNumber: change.stepNumber ?? before.meta.stepNumber + (change.step === undefined ? 0 : 1),
  });
  const record = checkpointRecord(at.partition, version, meta, encryptBody(at, cipher, version, written.body));
  const nameMove =
    change.name === undefined
      ? undefined
      : { name: change.name, replace: change.moveName === true, anchor: written.chain.anchor };
  at.cache.forget(at.partition);
  const outcome = await commitCheckpoint(
    at,
    base,
    record,
    createHeadMove(at, base, record, headUpdate, change.status !== undefined),
    nameMove,
    sideWrites,
  );
  if (outcome === 'already written') return loadCheckpoint(at, version);
  const loaded = { root, model, chain: written.chain, head: outcome, record, cipher: cipher, seenAt: at.now() };
  at.cache.remember(at.partition, loaded);
  return loaded;
}

/** The payloads that a checkpoint adds and drops; together they tell which payloads are in use at any version. */
function payloadChanges(
  before: Root | undefined,
  after: Root,
): Pick<CheckpointMeta, 'payloadsAdded' | 'payloadsDropped'> {
  const old = before ? payloadRefs(before) : new Map();
  const now = payloadRefs(after);
  const added = [...now.keys()].filter((id) => !old.has(id));
  const dropped = [...old.keys()].filter((id) => !now.has(id));
  return {
    payloadsAdded: added.length > 0 ? added : undefined,
    payloadsDropped: dropped.length > 0 ? dropped : undefined,
  };
}
