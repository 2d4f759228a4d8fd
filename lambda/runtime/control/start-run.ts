import {
  append,
  type CheckpointId,
  checkSaveFields,
  createBase,
  EMPTY_CONTENT,
  encodeValues,
  randomId,
  readLiveHead,
  toRetentionMs,
} from '../../checkpoints/engine.ts';
import type { Person } from '../../core/approval.ts';
import type { Duration } from '../../core/duration.ts';
import { isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { hasEnded, type Status } from '../../core/status.ts';
import { HEAD_KEY } from '../../storage/keys.ts';
import { deliver, type Runtime } from '../runtime.ts';
import { NO_WORK, readyWork } from '../wake/work.ts';
import type { StartRequest } from './start-request.ts';

/** The run to start. */
export interface StartRunOptions {
  readonly agent: string;
  readonly input: unknown;
  /** Starting the same id twice starts one run. @default a random id */
  readonly id?: string | undefined;
  readonly owner?: string | undefined;
  /** The person who requests the run. */
  readonly requestedBy?: Person | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly retention?: Duration | undefined;
  /** How long the run may take in total. */
  readonly timeoutMs?: number | undefined;
  readonly parent?: CheckpointId | undefined;
  /** Whether the parent parentWaits for the run to end. */
  readonly parentWaits?: boolean;
  /** The caller does not know the schema of the input, so the agent validates it before the run starts. */
  readonly unchecked?: true;
  /** Recorded with the input, to recognize another request with the same idempotency key. */
  readonly request?: StartRequest | undefined;
}

/** A run that was started by this call or an earlier one. */
export interface StartedRun {
  readonly run: string;
  readonly status: Status;
  /** False when the run existed before. */
  readonly isNew: boolean;
}

/** Writes the first checkpoint of a run, which holds only its input, and delivers the run. */
export async function startRun(runtime: Runtime, options: StartRunOptions): Promise<StartedRun> {
  const { agent, input, id = randomId(), owner, requestedBy, tags, retention, timeoutMs } = options;
  const { parent, parentWaits, unchecked, request } = options;
  await checkSaveFields({ agent, owner, requestedBy, tags, retention, parent });
  const at = await runtime.contexts.forRun(id);
  const base = await createBase(at, owner);
  const root = await encodeValues(at, base.cipher, EMPTY_CONTENT, {
    toolResults: { '@input': { kind: 'input', value: input, ...omitUndefined({ unchecked, request }) } },
  });
  // Any response tells the time of the storage, by which the run times out and becomes due.
  if (at.records.clockAheadMs() === undefined) await at.records.read(at.partition, [HEAD_KEY]);
  const now = at.now();
  const work = {
    ...readyWork(NO_WORK, now),
    ...(timeoutMs !== undefined && { timeoutMs, deadline: now + timeoutMs }),
    ...(parentWaits && parent && { replyTo: parent.run }),
  };
  const retentionMs = toRetentionMs(retention) ?? at.retentionMs;
  const head = { agent, owner, requestedBy, tags, retentionMs, work };
  try {
    await append(at, base, { root, model: undefined, schema: undefined, status: 'READY', parent, head });
  } catch (error) {
    if (!isWaitstateError(error, 'STALE_VERSION')) throw error;
    const { meta } = await readLiveHead(at);
    if (request) await (await import('./start-request.ts')).checkSameRequest(at, request);
    if (parentWaits && meta.work?.replyTo !== parent?.run && !hasEnded(meta.status))
      throw new WaitstateError(
        'RUN_EXISTS',
        `Run "${id}" exists, and run "${parent?.run}" did not start it, so that run would not learn of its end. Use another id for the child run.`,
        { cause: error },
      );
    if (meta.agent === agent) return { run: id, status: meta.status, isNew: false };
    throw new WaitstateError(
      'RUN_EXISTS',
      `Run "${id}" belongs to agent "${meta.agent ?? 'none'}"; agent "${agent}" cannot use its id. Use another id.`,
      { cause: error },
    );
  }
  await deliver(runtime, { tenant: at.tenant, run: id, agent });
  return { run: id, status: 'READY', isNew: true };
}
