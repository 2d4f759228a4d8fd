import type { HeadMeta, LoadedCheckpoint, RunContext, RuntimeMeta } from '../../checkpoints/engine.ts';
import {
  append,
  checkSaveFields,
  checkVersion,
  encodeModel,
  encodeValues,
  findEarlierWrite,
  loadCheckpoint,
  nextSchemaVersion,
  type SaveFields,
  toBase,
} from '../../checkpoints/engine.ts';
import { WaitstateError } from '../../core/errors.ts';
import type { Status } from '../../core/status.ts';
import { ConditionFailedError, type Write } from '../../storage/ports.ts';
import type { Entry } from '../journal/entries.ts';
import { hasSameApprovals, NO_WORK } from '../wake/work.ts';

/** What an agent that runs elsewhere saves. All that it holds of its run is the version that it goes on from. */
export interface RemoteSave extends Omit<SaveFields, 'status' | 'parent' | 'owner' | 'tags' | 'retentionSeconds'> {
  readonly expectedVersion: number;
  /** The same request again finds what the first one wrote. */
  readonly writeId: string;
  readonly state?: unknown;
}

/** What becomes of the run beside what is saved. */
export interface RemoteChange {
  readonly entries?: Iterable<readonly [id: string, entry: Entry]>;
  readonly status?: Status | undefined;
  readonly work?: (there: RuntimeMeta) => RuntimeMeta;
  readonly sideWrites?: readonly Write[];
}

// The run was woken, or an approval ended, while the change was made.
class Moved extends Error {}

const TRIES = 20;

/**
 * Appends a checkpoint that also changes what becomes of the run, in one transaction, on the very version that the caller
 * holds. `change` is asked again when an outside event came meanwhile.
 */
export async function saveRemotely(
  at: RunContext,
  { expectedVersion, state, toolResults, forgetToolResults, model, agent, ...fields }: RemoteSave,
  change: (loaded: LoadedCheckpoint) => Promise<RemoteChange>,
): Promise<LoadedCheckpoint> {
  checkVersion(expectedVersion, '`expectedVersion`');
  checkSaveFields({ ...fields, toolResults, forgetToolResults, model, agent });
  for (let tried = 1; ; tried++) {
    const loaded = await loadCheckpoint(at);
    if (loaded.record.version !== expectedVersion) return findEarlierWrite(at, expectedVersion, fields.writeId, loaded);
    const { entries = [], status, work = (there) => there, sideWrites } = await change(loaded);
    const root = await encodeValues(at, loaded.cipher, loaded.root, {
      ...(state !== undefined && { state }),
      toolResults: { ...toolResults, ...Object.fromEntries(entries) },
      forgetToolResults,
    });
    const head = (there: HeadMeta) => {
      if (isOther(there, loaded.head.meta)) throw new Moved();
      return { work: work(there.work ?? NO_WORK), ...(agent !== undefined && { agent }) };
    };
    const schema = state === undefined ? loaded.record.meta.schema : nextSchemaVersion(at, loaded);
    try {
      return await append(at, toBase(loaded), {
        ...fields,
        ...{ root, schema, status, head, sideWrites, model: encodeModel(at, model) },
      });
    } catch (error) {
      const isPassing = error instanceof Moved || error instanceof ConditionFailedError;
      if (!isPassing || tried >= TRIES) throw error;
    }
  }
}

const isOther = (there: HeadMeta, seen: HeadMeta): boolean =>
  there.work?.wake !== seen.work?.wake || !hasSameApprovals(there.work, seen.work);

/** Refuses to suspend a run that nobody runs: whoever does it would not be the one to go on. */
export function checkIsRunning(at: RunContext, { head, record }: Pick<LoadedCheckpoint, 'head' | 'record'>): void {
  const { status } = head.meta;
  if (status === 'RUNNING' && record.meta.status === 'RUNNING') return;
  throw new WaitstateError(
    'TRANSITION_REFUSED',
    `Run "${at.run}" is ${status}; only one that is RUNNING can be given up. Go on from the event that your function was invoked with.`,
    { scope: 'run' },
  );
}
