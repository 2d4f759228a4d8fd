import {
  append,
  checkSaveFields,
  checkVersion,
  type Doc,
  encodeModel,
  encodeValues,
  findEarlierWrite,
  type HeadMeta,
  type LoadedCheckpoint,
  loadCheckpoint,
  nextSchemaVersion,
  type RunContext,
  type RuntimeMeta,
  type SaveFields,
  toBase,
} from '../../checkpoints/engine.ts';
import { WaitstateError } from '../../core/errors.ts';
import type { Status } from '../../core/status.ts';
import { ConditionFailedError, type Write } from '../../storage/ports.ts';
import { countTime } from '../journal/append-entries.ts';
import { WAITS_LABEL } from '../journal/checkpoint-labels.ts';
import type { Entry } from '../journal/entries.ts';
import { hasSameApprovals, NO_WORK } from '../wake/work.ts';

/** A save by an agent in another process or language. It identifies the run's progress only by `expectedVersion`. */
export interface RemoteSave
  extends Omit<SaveFields, 'status' | 'parent' | 'owner' | 'requestedBy' | 'tags' | 'retention'> {
  readonly expectedVersion: number;
  /** Makes the request idempotent: a repeated one returns the checkpoint that the first one wrote. */
  readonly writeId: string;
  readonly state?: unknown;
  /** Events to record with the checkpoint, encoded. */
  readonly events?: readonly Doc[];
}

/** Changes to the run in the transaction of the save. */
export interface RemoteChange {
  readonly entries?: Iterable<readonly [id: string, entry: Entry]>;
  readonly status?: Status | undefined;
  readonly work?: (current: RuntimeMeta) => RuntimeMeta;
  readonly sideWrites?: readonly Write[];
  /** What the run waits for, if the save suspends it. */
  readonly waits?: string | undefined;
}

// The run was woken, or one of its approvals ended, while the change was being prepared.
class HeadChanged extends Error {}

const MAX_ATTEMPTS = 20;

/**
 * Appends a checkpoint and applies a change of the run in one transaction, on exactly the expected version. `change` is
 * called again when an outside event arrives meanwhile.
 */
export async function saveRemotely(
  at: RunContext,
  { expectedVersion, state, toolResults, forgetToolResults, model, agent, ...fields }: RemoteSave,
  change: (loaded: LoadedCheckpoint) => Promise<RemoteChange>,
): Promise<LoadedCheckpoint> {
  checkVersion(expectedVersion, '`expectedVersion`');
  await checkSaveFields({ ...fields, toolResults, forgetToolResults, model, agent });
  for (let attempt = 1; ; attempt++) {
    const loaded = await loadCheckpoint(at);
    if (loaded.record.version !== expectedVersion) return findEarlierWrite(at, expectedVersion, fields.writeId, loaded);
    const { entries = [], status, work = (current) => current, sideWrites, waits } = await change(loaded);
    const root = await encodeValues(at, loaded.cipher, loaded.root, {
      ...(state !== undefined && { state }),
      toolResults: { ...toolResults, ...Object.fromEntries(entries) },
      forgetToolResults,
    });
    const head = (current: HeadMeta) => {
      if (hasHeadChanged(current, loaded.head.meta)) throw new HeadChanged();
      return countTime(at, loaded, current, {
        work: work(current.work ?? NO_WORK),
        ...(agent !== undefined && { agent }),
      });
    };
    const schema = state === undefined ? loaded.record.meta.schema : nextSchemaVersion(at, loaded);
    try {
      return await append(at, toBase(loaded), {
        ...fields,
        root,
        schema,
        status,
        head,
        sideWrites,
        model: encodeModel(at, model),
        ...(waits !== undefined && { labels: { ...fields.labels, [WAITS_LABEL]: waits } }),
      });
    } catch (error) {
      const isRetryable = error instanceof HeadChanged || error instanceof ConditionFailedError;
      if (!isRetryable || attempt >= MAX_ATTEMPTS) throw error;
    }
  }
}

const hasHeadChanged = (current: HeadMeta, known: HeadMeta): boolean =>
  current.work?.eventCount !== known.work?.eventCount || !hasSameApprovals(current.work, known.work);

/**
 * Throws TRANSITION_REFUSED unless the run is RUNNING: only the invocation that runs it may suspend, yield or end it.
 */
export function checkIsRunning(at: RunContext, { head, record }: Pick<LoadedCheckpoint, 'head' | 'record'>): void {
  const { status } = head.meta;
  if (status === 'RUNNING' && record.meta.status === 'RUNNING') return;
  throw new WaitstateError(
    'TRANSITION_REFUSED',
    `Run "${at.run}" is ${status}; only a RUNNING run can be suspended, yielded or ended. Continue from the event that your function was invoked with.`,
    { scope: 'run' },
  );
}
