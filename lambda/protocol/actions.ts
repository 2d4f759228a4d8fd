import type { RunContext } from '../checkpoints/context.ts';
import type { Contexts } from '../checkpoints/contexts.ts';
import { payloadRefs } from '../checkpoints/document/payloads.ts';
import { type Opened, open, readNewest, type Which } from '../checkpoints/load.ts';
import { save } from '../checkpoints/save.ts';
import type { ApprovalRequest } from '../core/approval.ts';
import { type Duration, millisecondsOf } from '../core/duration.ts';
import { WaitstateError } from '../core/errors.ts';
import { refused } from '../core/invalid-input.ts';
import { present } from '../core/omit-undefined.ts';
import { type Clock, systemClock } from '../runtime/agent/clock.ts';
import { signalRun } from '../runtime/control/run-control.ts';
import { startRun } from '../runtime/control/start-run.ts';
import { rawEntries } from '../runtime/journal/append-entries.ts';
import { finishRemotely, yieldRemotely } from '../runtime/remote/finish.ts';
import { checkIsRunning, type RemoteSave } from '../runtime/remote/save.ts';
import { remoteValue } from '../runtime/remote/value.ts';
import { askRemotely, isToolId, type Suspended, waitRemotely } from '../runtime/remote/wait.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Observing } from '../runtime/telemetry.ts';
import { type SignedUrls, URL_SECONDS } from '../storage/ports.ts';
import { handedOver } from './invocation-payload.ts';
import type { Action, CheckpointRequest } from './request.ts';
import { makeUpload, readUpload } from './uploads.ts';

/** What the actions stand on. */
export interface Acting {
  /** Those of the tenant that the request names. */
  readonly contexts: Contexts;
  readonly signedUrls: SignedUrls | undefined;
  readonly observing: Pick<Observing, 'log'>;
  readonly clock?: Clock | undefined;
}

type Do = (acting: Acting, request: CheckpointRequest, at: RunContext) => Promise<object>;

/** Does what a request asks for; gives what is answered. */
export async function act(acting: Acting, request: CheckpointRequest): Promise<object> {
  // A run that is to be started may have no id yet.
  const at = await acting.contexts.inRun(request.run ?? 'none');
  return ACTIONS[request.action](acting, request, at);
}

const ACTIONS: Readonly<Record<Action, Do>> = {
  async start(acting, { run, fields }, at) {
    const { agent, input, timeout, owner, tags, retentionSeconds } = fields as Starting;
    return startRun(runtimeOf(acting), {
      ...{ agent, owner, tags, retentionSeconds, id: run, unchecked: true },
      input: await remoteValue(at, 'input', input ?? null),
      timeoutMs: timeout && millisecondsOf('`timeout`', timeout),
    });
  },

  async save(_, request, at) {
    const { status, owner, tags, retentionSeconds } = request.fields as Saving;
    const saved = await savingOf(at, request);
    if (status === 'READY') return savedAs(await yieldRemotely(at, saved));
    const there = status === undefined ? undefined : await readNewest(at);
    if (there?.head.meta.work) checkIsRunning(at, { head: there.head, record: there.newest });
    return savedAs(await save(at, { ...saved, ...present({ status, owner, tags, retentionSeconds }) }));
  },

  async load({ signedUrls }, { run, fields }, at) {
    const { version, name } = fields as { version?: number; name?: string };
    if (version !== undefined && name !== undefined) throw refused('A request', 'given `version` or `name`', 'both');
    const which: Which | undefined = name === undefined ? version : { name };
    return { run, ...(await handedOver(at, await open(at, which), signedUrls)) };
  },

  async requestApproval(_, request, at) {
    const { name, show, facts, ...terms } = (request.fields as Asking).approval;
    const asked = {
      ...terms,
      ...(show !== undefined && { show: await remoteValue(at, 'approval.show', show) }),
      ...(facts && { facts: (await remoteValue(at, 'approval.facts', facts)) as typeof facts }),
    };
    return suspendedAs(await askRemotely(at, await savingOf(at, request), { name, request: asked }));
  },

  async waitForSignal(_, request, at) {
    const { signal, timeout } = request.fields as { signal: string; timeout?: Duration };
    return suspendedAs(await waitRemotely(at, await savingOf(at, request), { name: signal, timeout }));
  },

  async signal(acting, { run = '', fields }, at) {
    const { signal: name, value, id } = fields as { signal: string; value?: unknown; id?: string };
    const isNew = await signalRun(runtimeOf(acting), run, {
      ...{ name, id, unchecked: true },
      value: await remoteValue(at, 'value', value ?? null),
    });
    return { run, isNew };
  },

  async finish(_, request, at) {
    const { status, result, error } = request.fields as Finishing;
    if ((status === 'FAILED') !== (error !== undefined))
      throw refused('`error`', 'given with the status FAILED, and only then', error === undefined ? 'nothing' : 'one');
    if (status === 'FAILED' && result !== undefined)
      throw refused('`result`', 'given with the status SUCCEEDED', 'one');
    const saved = await savingOf(at, request);
    const end = error
      ? { status: 'FAILED' as const, error: errorOf(error) }
      : { status: 'SUCCEEDED' as const, result: await remoteValue(at, 'result', result ?? null) };
    return savedAs(await finishRemotely(at, saved, end));
  },

  upload: ({ signedUrls }, _, at) => makeUpload(at, signedUrls),

  async download({ signedUrls }, { run, fields }, at) {
    const { payload, version } = fields as { payload: string; version?: number };
    const { root, sealing } = await open(at, version);
    const ref = payloadRefs(root).get(payload);
    if (!ref) throw refused('`payload`', `the id of one that run "${run}" points at`, payload);
    if (sealing.encrypted || !signedUrls)
      throw new WaitstateError('INVALID_INPUT', 'What is encrypted, or not in a bucket, cannot be had by a link.');
    const url = await signedUrls.get(at.partition, ref.id);
    return { url, size: ref.size, sha256: ref.sha256, expiresInSeconds: URL_SECONDS, ...present({ type: ref.type }) };
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
      const value = await remoteValue(at, `toolResults[${JSON.stringify(id)}]`, result);
      return [id, { kind: 'tool', value }] as const;
    }),
  );
  return {
    ...{ expectedVersion, writeId },
    ...present({
      step,
      forgetToolResults: await forgotten(at, forgetToolResults),
      name,
      moveName,
      labels,
      model,
      agent,
    }),
    ...(toolResults && { toolResults: Object.fromEntries(results) }),
    ...(doc !== undefined && { state: await remoteValue(at, 'state', doc) }),
  };
}

/** Which results are to be forgotten: never what the runtime itself keeps among them. */
async function forgotten(
  at: RunContext,
  ids: true | readonly string[] | undefined,
): Promise<readonly string[] | undefined> {
  if (ids !== true) return ids;
  const entries = rawEntries(await open(at));
  return entries.flatMap(([id, { kind }]) => (kind === 'tool' && isToolId(id) ? id : []));
}

const savedAs = ({ record, head }: Opened): object => ({ version: record.version, status: head.meta.status });

const suspendedAs = ({ opened, approval }: Suspended): object => ({
  ...savedAs(opened),
  suspended: opened.record.meta.status !== 'RUNNING',
  ...present({ approval }),
});

/** An error of an agent elsewhere; where in this process it was made says nothing. */
function errorOf({ message = 'No reason was given.', name = 'Error' }: NonNullable<Finishing['error']>): Error {
  const error = Object.assign(new Error(message), { name });
  error.stack = `${name}: ${message}`;
  return error;
}

const runtimeOf = ({ contexts, observing, clock = systemClock }: Acting): Runtime => ({
  ...{ contexts, clock, chance: Math.random },
  log: observing.log,
});
