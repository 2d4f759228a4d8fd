import type { CheckpointId } from '../../checkpoints/engine.ts';
import {
  append,
  checkSaveFields,
  createBase,
  EMPTY_CONTENT,
  encodeValues,
  randomId,
  readLiveHead,
} from '../../checkpoints/engine.ts';
import { isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { hasEnded, type Status } from '../../core/status.ts';
import { deliver, type Runtime } from '../runtime.ts';
import { NO_WORK, readyWork } from '../wake/work.ts';

/** A run to start. */
export interface StartRunOptions {
  readonly agent: string;
  readonly input: unknown;
  /** The same id twice starts one run. @default a random one */
  readonly id?: string | undefined;
  readonly owner?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly retentionSeconds?: number | undefined;
  /** How long the run may take altogether. */
  readonly timeoutMs?: number | undefined;
  readonly parent?: CheckpointId | undefined;
  /** Whether the parent waits for the end. */
  readonly parentWaits?: boolean;
  /** That whoever starts it does not know the schema of the input; the agent then checks it first. */
  readonly unchecked?: true;
}

/** A run that was started, now or before. */
export interface Started {
  readonly run: string;
  readonly status: Status;
  /** False when there was such a run already. */
  readonly isNew: boolean;
}

/** Writes the first checkpoint of a run, with its input and nothing else, and brings it to a process. */
export async function startRun(runtime: Runtime, start: StartRunOptions): Promise<Started> {
  const {
    agent,
    input,
    id = randomId(),
    owner,
    tags,
    retentionSeconds,
    timeoutMs,
    parent,
    parentWaits: waits,
    unchecked,
  } = start;
  checkSaveFields({ agent, owner, tags, retentionSeconds, parent });
  const at = await runtime.contexts.forRun(id);
  const base = await createBase(at, owner);
  const root = await encodeValues(at, base.cipher, EMPTY_CONTENT, {
    toolResults: { '@input': { kind: 'input', value: input, ...omitUndefined({ unchecked }) } },
  });
  const now = at.now();
  const work = {
    ...readyWork(NO_WORK, now),
    ...(timeoutMs !== undefined && { timeoutMs, deadline: now + timeoutMs }),
    ...(waits && parent && { replyTo: parent.run }),
  };
  const retentionMs = retentionSeconds === undefined ? at.retentionMs : retentionSeconds * 1000;
  const head = { agent, owner, tags, retentionMs, work };
  try {
    await append(at, base, { root, model: undefined, schema: undefined, status: 'READY', parent, head });
  } catch (error) {
    if (!isWaitstateError(error, 'STALE_VERSION')) throw error;
    const { meta } = await readLiveHead(at);
    if (waits && meta.work?.replyTo !== parent?.run && !hasEnded(meta.status))
      throw new WaitstateError(
        'RUN_EXISTS',
        `Run "${id}" was started by somebody else; run "${parent?.run}" would not be told of its end. Give the child another id.`,
        { cause: error },
      );
    if (meta.agent === agent) return { run: id, status: meta.status, isNew: false };
    throw new WaitstateError(
      'RUN_EXISTS',
      `Run "${id}" is of agent "${meta.agent ?? 'none'}"; agent "${agent}" cannot be started under its id.`,
      { cause: error },
    );
  }
  await deliver(runtime, { tenant: at.tenant, run: id, agent });
  return { run: id, status: 'READY', isNew: true };
}
