import type { CheckpointSelector, ContextFactory, LoadedCheckpoint, RunContext } from '../checkpoints/engine.ts';
import { loadCheckpoint, payloadRefs, readNewest, save } from '../checkpoints/engine.ts';
import type { ApprovalRequest } from '../core/approval.ts';
import { type Duration, toMilliseconds } from '../core/duration.ts';
import { WaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { signalRun } from '../runtime/control/run-control.ts';
import { startRun } from '../runtime/control/start-run.ts';
import { rawEntries } from '../runtime/journal/append-entries.ts';
import { finishRemotely, yieldRemotely } from '../runtime/remote/finish.ts';
import { checkIsRunning, type RemoteSave } from '../runtime/remote/save.ts';
import { decodeRemoteValue } from '../runtime/remote/value.ts';
import { isToolId, requestApprovalRemotely, type SuspendedRun, waitForSignalRemotely } from '../runtime/remote/wait.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { SIGNED_URL_SECONDS, type SignedUrls } from '../storage/ports.ts';
import { invocationPayload } from './invocation-payload.ts';
import type { Action, CheckpointRequest } from './request.ts';
import { createUpload, readUpload } from './uploads.ts';

/** What the actions stand on. */
export interface ActionOptions {
  /** Those of the tenant that the request names. */
  readonly contexts: ContextFactory;
  readonly signedUrls: SignedUrls | undefined;
  readonly telemetry: Pick<Telemetry, 'log'>;
  readonly clock?: Clock | undefined;
}

type Do = (acting: ActionOptions, request: CheckpointRequest, at: RunContext) => Promise<object>;

/** Does what a request asks for; gives what is answered. */
export async function performAction(acting: ActionOptions, request: CheckpointRequest): Promise<object> {
  // A run that is to be started may have no id yet.
  const at = await acting.contexts.forRun(request.run ?? 'none');
  return ACTIONS[request.action](acting, request, at);
}

const ACTIONS: Readonly<Record<Action, Do>> = {
  async start(acting, { run, fields }, at) {
    const { agent, input, timeout, owner, tags, retentionSeconds } = fields as Starting;
    return startRun(runtimeOf(acting), {
      ...{ agent, owner, tags, retentionSeconds, id: run, unchecked: true },
      input: await decodeRemoteValue(at, 'input', input ?? null),
      timeoutMs: timeout && toMilliseconds('`timeout`', timeout),
    });
  },

  async save(_, request, at) {
    const { status, owner, tags, retentionSeconds } = request.fields as Saving;
    const saved = await savingOf(at, request);
    if (status === 'READY') return savedAs(await yieldRemotely(at, saved));
    const there = status === undefined ? undefined : await readNewest(at);
    if (there?.head.meta.work) checkIsRunning(at, { head: there.head, record: there.newest });
    return savedAs(await save(at, { ...saved, ...omitUndefined({ status, owner, tags, retentionSeconds }) }));
  },

  async load({ signedUrls }, { run, fields }, at) {
    const { version, name } = fields as { version?: number; name?: string };
    if (version !== undefined && name !== undefined)
      throw invalidInput('A request', 'given `version` or `name`', 'both');
    const which: CheckpointSelector | undefined = name === undefined ? version : { name };
    return { run, ...(await invocationPayload(at, await loadCheckpoint(at, which), signedUrls)) };
  },

  async requestApproval(_, request, at) {
    const { name, show, facts, ...terms } = (request.fields as Asking).approval;
    const asked = {
      ...terms,
      ...(show !== undefined && { show: await decodeRemoteValue(at, 'approval.show', show) }),
      ...(facts && { facts: (await decodeRemoteValue(at, 'approval.facts', facts)) as typeof facts }),
    };
    return suspendedAs(await requestApprovalRemotely(at, await savingOf(at, request), { name, request: asked }));
  },

  async waitForSignal(_, request, at) {
    const { signal, timeout } = request.fields as { signal: string; timeout?: Duration };
    return suspendedAs(await waitForSignalRemotely(at, await savingOf(at, request), { name: signal, timeout }));
  },

  async signal(acting, { run = '', fields }, at) {
    const { signal: name, value, id } = fields as { signal: string; value?: unknown; id?: string };
    const isNew = await signalRun(runtimeOf(acting), run, {
      ...{ name, id, unchecked: true },
      value: await decodeRemoteValue(at, 'value', value ?? null),
    });
    return { run, isNew };
  },

  async finish(_, request, at) {
    const { status, result, error } = request.fields as Finishing;
    if ((status === 'FAILED') !== (error !== undefined))
      throw invalidInput(
        '`error`',
        'given with the status FAILED, and only then',
        error === undefined ? 'nothing' : 'one',
      );
    if (status === 'FAILED' && result !== undefined)
      throw invalidInput('`result`', 'given with the status SUCCEEDED', 'one');
    const saved = await savingOf(at, request);
    const end = error
      ? { status: 'FAILED' as const, error: errorOf(error) }
      : { status: 'SUCCEEDED' as const, result: await decodeRemoteValue(at, 'result', result ?? null) };
    return savedAs(await finishRemotely(at, saved, end));
  },

  upload: ({ signedUrls }, _, at) => createUpload(at, signedUrls),

  async download({ signedUrls }, { run, fields }, at) {
    const { payload, version } = fields as { payload: string; version?: number };
    const { root, cipher } = await loadCheckpoint(at, version);
    const ref = payloadRefs(root).get(payload);
    if (!ref) throw invalidInput('`payload`', `the id of one that run "${run}" points at`, payload);
    if (cipher.isEncrypted || !signedUrls)
      throw new WaitstateError('INVALID_INPUT', 'What is encrypted, or not in a bucket, cannot be had by a link.');
    const url = await signedUrls.get(at.partition, ref.id);
    return {
      url,
      size: ref.size,
      sha256: ref.sha256,
      expiresInSeconds: SIGNED_URL_SECONDS,
      ...omitUndefined({ type: ref.type }),
    };
  },
};

interface Starting {
  readonly agent: string;
  readonly input?: unknown;
  readonly timeout?: Duration;
  readonly owner?: string;
  readonly tags?: readonly string[];
  readonly retentionSeconds?: number;
}

interface Saving extends Omit<RemoteSave, 'writeId'>, Pick<Starting, 'owner' | 'tags' | 'retentionSeconds'> {
  readonly stateFrom?: { readonly upload: string };
  readonly status?: 'RUNNING' | 'READY';
}

interface Asking {
  readonly approval: ApprovalRequest & { readonly name: string };
}

interface Finishing {
  readonly status: 'SUCCEEDED' | 'FAILED';
  readonly result?: unknown;
  readonly error?: { readonly message?: string; readonly name?: string };
}

/** What a request saves, with live values; results of tools are kept as those of the runtime are. */
async function savingOf(at: RunContext, { fields, writeId }: CheckpointRequest): Promise<RemoteSave> {
  const { expectedVersion, step, forgetToolResults, name, moveName, labels, model, agent } = fields as Saving;
  const { state, stateFrom, toolResults } = fields as Saving;
  const doc = stateFrom ? await readUpload(at, stateFrom.upload) : state;
  const results = await Promise.all(
    Object.entries(toolResults ?? {}).map(async ([id, result]) => {
      const value = await decodeRemoteValue(at, `toolResults[${JSON.stringify(id)}]`, result);
      return [id, { kind: 'tool', value }] as const;
    }),
  );
  return {
    ...{ expectedVersion, writeId },
    ...omitUndefined({
      step,
      forgetToolResults: await forgotten(at, forgetToolResults),
      name,
      moveName,
      labels,
      model,
      agent,
    }),
    ...(toolResults && { toolResults: Object.fromEntries(results) }),
    ...(doc !== undefined && { state: await decodeRemoteValue(at, 'state', doc) }),
  };
}

/** Which results are to be forgotten: never what the runtime itself keeps among them. */
async function forgotten(
  at: RunContext,
  ids: true | readonly string[] | undefined,
): Promise<readonly string[] | undefined> {
  if (ids !== true) return ids;
  const entries = rawEntries(await loadCheckpoint(at));
  return entries.flatMap(([id, { kind }]) => (kind === 'tool' && isToolId(id) ? id : []));
}

const savedAs = ({ record, head }: LoadedCheckpoint): object => ({ version: record.version, status: head.meta.status });

const suspendedAs = ({ loaded, approval }: SuspendedRun): object => ({
  ...savedAs(loaded),
  suspended: loaded.record.meta.status !== 'RUNNING',
  ...omitUndefined({ approval }),
});

/** An error of an agent elsewhere; where in this process it was made says nothing. */
function errorOf({ message = 'No reason was given.', name = 'Error' }: NonNullable<Finishing['error']>): Error {
  const error = Object.assign(new Error(message), { name });
  error.stack = `${name}: ${message}`;
  return error;
}

const runtimeOf = ({ contexts, telemetry, clock = systemClock }: ActionOptions): Runtime => ({
  ...{ contexts, clock, random: Math.random },
  log: telemetry.log,
});
