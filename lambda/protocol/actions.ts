import {
  type CheckpointSelector,
  type ContextFactory,
  type Doc,
  type LoadedCheckpoint,
  loadCheckpoint,
  payloadRefs,
  type RunContext,
  readNewest,
  save,
} from '../checkpoints/engine.ts';
import type { ApprovalRequest, Person } from '../core/approval.ts';
import { type Duration, toMilliseconds } from '../core/duration.ts';
import { WaitstateError } from '../core/errors.ts';
import { checkSchemaSize, type QuestionTerms, toAnswerSchema } from '../core/forms/question-schema.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { signalRun } from '../runtime/control/run-control.ts';
import { startRun } from '../runtime/control/start-run.ts';
import { EventBuffer } from '../runtime/invocation/emitted-events.ts';
import { rawEntries } from '../runtime/journal/append-entries.ts';
import { callRemotely, type RemoteCall } from '../runtime/remote/call.ts';
import { finishRemotely, yieldRemotely } from '../runtime/remote/finish.ts';
import { checkIsRunning, type RemoteSave } from '../runtime/remote/save.ts';
import { decodeRemoteValue } from '../runtime/remote/value.ts';
import {
  isToolId,
  requestApprovalRemotely,
  type SuspendedRun,
  sleepRemotely,
  waitForSignalRemotely,
} from '../runtime/remote/wait.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { SIGNED_URL_SECONDS, type SignedUrls } from '../storage/ports.ts';
import { invocationPayload } from './invocation-payload.ts';
import type { Action, CheckpointRequest } from './request.ts';
import { createUpload, readUpload } from './uploads.ts';

/** The dependencies of the actions. */
export interface ActionOptions {
  /** The contexts of the tenant that the request names. */
  readonly contexts: ContextFactory;
  readonly signedUrls: SignedUrls | undefined;
  /** The most bytes of content that a response can have without a bucket. @default 900 KB */
  readonly maxBytes?: number;
  readonly telemetry: Pick<Telemetry, 'log'>;
  readonly clock?: Clock | undefined;
  /** Delivers runs that become ready. @default the stream of the table does */
  readonly deliver?: Runtime['deliver'] | undefined;
}

type PerformAction = (options: ActionOptions, request: CheckpointRequest, at: RunContext) => Promise<object>;

/** Performs the action of a request; returns the response. */
export async function performAction(options: ActionOptions, request: CheckpointRequest): Promise<object> {
  // A start may have no run id.
  const at = await options.contexts.forRun(request.run ?? 'none');
  return ACTIONS[request.action](options, request, at);
}

const ACTIONS: Readonly<Record<Action, PerformAction>> = {
  async start(options, { run, fields }, at) {
    const { agent, input, timeout, owner, requestedBy, tags, retention } = fields as StartFields;
    return startRun(createRuntime(options), {
      agent,
      owner,
      requestedBy,
      tags,
      retention,
      id: run,
      unchecked: true,
      input: await decodeRemoteValue(at, 'input', input ?? null),
      timeoutMs: timeout && toMilliseconds('`timeout`', timeout),
    });
  },

  async save(_, request, at) {
    const { status, owner, requestedBy, tags, retention } = request.fields as SaveFields;
    const saved = await toRemoteSave(at, request);
    if (status === 'READY') return savedResponse(await yieldRemotely(at, saved));
    const current = status === undefined ? undefined : await readNewest(at);
    if (current?.head.meta.work) checkIsRunning(at, { head: current.head, record: current.newest });
    return savedResponse(
      await save(at, { ...saved, ...omitUndefined({ status, owner, requestedBy, tags, retention }) }),
    );
  },

  async load({ signedUrls, maxBytes }, { run, fields }, at) {
    const { version, name } = fields as { version?: number; name?: string };
    if (version !== undefined && name !== undefined)
      throw invalidInput('A request', 'given either `version` or `name`', 'both');
    const which: CheckpointSelector | undefined = name === undefined ? version : { name };
    return {
      run,
      ...(await invocationPayload(at, await loadCheckpoint(at, which), { signedUrls, ...omitUndefined({ maxBytes }) })),
    };
  },

  async requestApproval(_, request, at) {
    const { name, show, facts, ...terms } = (request.fields as ApprovalFields).approval;
    const approvalRequest = {
      ...toApprovalTerms(terms),
      ...(show !== undefined && { show: await decodeRemoteValue(at, 'approval.show', show) }),
      ...(facts && { facts: (await decodeRemoteValue(at, 'approval.facts', facts)) as typeof facts }),
    };
    return suspendedResponse(
      await requestApprovalRemotely(at, await toRemoteSave(at, request), { name, request: approvalRequest }),
    );
  },

  async waitForSignal(_, request, at) {
    const { signal, timeout } = request.fields as { signal: string; timeout?: Duration };
    return suspendedResponse(
      await waitForSignalRemotely(at, await toRemoteSave(at, request), { name: signal, timeout }),
    );
  },

  async sleep(_, request, at) {
    const { sleep: name, duration } = request.fields as { sleep: string; duration: Duration };
    return suspendedResponse(await sleepRemotely(at, await toRemoteSave(at, request), { name, duration }));
  },

  async call(options, request, at) {
    const { input, ...call } = (request.fields as { call: RemoteCall }).call;
    const decoded = { ...call, input: await decodeRemoteValue(at, 'call.input', input ?? null) };
    return suspendedResponse(await callRemotely(createRuntime(options), at, await toRemoteSave(at, request), decoded));
  },

  async signal(options, { run = '', fields }, at) {
    const { signal: name, value, id } = fields as { signal: string; value?: unknown; id?: string };
    const isNew = await signalRun(createRuntime(options), run, {
      name,
      id,
      unchecked: true,
      value: await decodeRemoteValue(at, 'value', value ?? null),
    });
    return { run, isNew };
  },

  async finish(options, request, at) {
    const { status, result, error } = request.fields as FinishFields;
    if ((status === 'FAILED') !== (error !== undefined))
      throw invalidInput(
        '`error`',
        'given if the status is FAILED, and only then',
        error === undefined ? 'no error' : 'an error',
      );
    if (status === 'FAILED' && result !== undefined)
      throw invalidInput('`result`', 'given only if the status is SUCCEEDED', 'a result');
    const saved = await toRemoteSave(at, request);
    const end = error
      ? { status: 'FAILED' as const, error: toError(error) }
      : { status: 'SUCCEEDED' as const, result: await decodeRemoteValue(at, 'result', result ?? null) };
    return savedResponse(await finishRemotely(createRuntime(options), at, saved, end));
  },

  upload: ({ signedUrls }, _, at) => createUpload(at, signedUrls),

  async download({ signedUrls }, { run, fields }, at) {
    const { payload, version } = fields as { payload: string; version?: number };
    const { root, cipher } = await loadCheckpoint(at, version);
    const ref = payloadRefs(root).get(payload);
    if (!ref) throw invalidInput('`payload`', `the id of a payload of run "${run}"`, payload);
    if (cipher.isEncrypted || !signedUrls)
      throw new WaitstateError(
        'INVALID_INPUT',
        'The payload cannot be downloaded by URL, because it is encrypted or not stored in a bucket.',
      );
    const url = await signedUrls.get(at.partition, ref.id);
    return {
      url,
      size: ref.size,
      sha256: ref.sha256,
      expiresIn: { seconds: SIGNED_URL_SECONDS },
      ...omitUndefined({ type: ref.type }),
    };
  },
};

interface StartFields {
  readonly agent: string;
  readonly input?: unknown;
  readonly timeout?: Duration;
  readonly owner?: string;
  readonly requestedBy?: Person;
  readonly tags?: readonly string[];
  readonly retention?: Duration;
}

interface SaveFields
  extends Omit<RemoteSave, 'writeId' | 'events'>,
    Pick<StartFields, 'owner' | 'requestedBy' | 'tags' | 'retention'> {
  readonly stateFrom?: { readonly upload: string };
  readonly events?: readonly unknown[];
  readonly undoable?: readonly string[];
  readonly status?: 'RUNNING' | 'READY';
}

interface ApprovalFields {
  readonly approval: ApprovalRequest & QuestionTerms & { readonly name: string };
}

interface FinishFields {
  readonly status: 'SUCCEEDED' | 'FAILED';
  readonly result?: unknown;
  readonly error?: { readonly message?: string; readonly name?: string };
}

/** The content of a save as values; tool results have the form of journal entries. */
async function toRemoteSave(at: RunContext, { fields, writeId }: CheckpointRequest): Promise<RemoteSave> {
  const { expectedVersion, step, forgetToolResults, name, moveName, labels, model, agent } = fields as SaveFields;
  const { state, stateFrom, toolResults, undoable, events } = fields as SaveFields;
  const unknown = undoable?.find((id) => !Object.hasOwn(toolResults ?? {}, id));
  if (unknown !== undefined)
    throw invalidInput('`undoable`', 'a list of ids of `toolResults` in this request', unknown);
  const doc = stateFrom ? await readUpload(at, stateFrom.upload) : state;
  const results = await Promise.all(
    Object.entries(toolResults ?? {}).map(async ([id, result]) => {
      const value = await decodeRemoteValue(at, `toolResults[${JSON.stringify(id)}]`, result);
      return [id, { kind: 'tool', value, ...(undoable?.includes(id) && { undo: true }) }] as const;
    }),
  );
  return {
    expectedVersion,
    writeId,
    ...omitUndefined({
      step,
      forgetToolResults: await resultsToForget(at, forgetToolResults),
      name,
      moveName,
      labels,
      model,
      agent,
    }),
    ...(toolResults && { toolResults: Object.fromEntries(results) }),
    ...(doc !== undefined && { state: await decodeRemoteValue(at, 'state', doc) }),
    ...(events && { events: await encodeEvents(at, events) }),
  };
}

/** The events of a save, as `ctx.emit` records them. */
async function encodeEvents(at: RunContext, events: readonly unknown[]): Promise<readonly Doc[]> {
  const buffer = new EventBuffer();
  for (const [i, event] of events.entries())
    buffer.add(at, at.now(), await decodeRemoteValue(at, `events[${i}]`, event));
  return buffer.take();
}

/** The ids of the results to forget; `true` means all tool results, but no entries of the runtime. */
async function resultsToForget(
  at: RunContext,
  ids: true | readonly string[] | undefined,
): Promise<readonly string[] | undefined> {
  if (ids !== true) return ids;
  const entries = rawEntries(await loadCheckpoint(at));
  return entries.flatMap(([id, { kind }]) => (kind === 'tool' && isToolId(id) ? id : []));
}

const savedResponse = ({ record, head }: LoadedCheckpoint): object => ({
  version: record.version,
  status: head.meta.status,
});

/** The request with the JSON Schemas of its forms. One of `choices`, `text` and `answerSchema` makes it a question. */
function toApprovalTerms({
  choices,
  multiple,
  text,
  answerSchema,
  ...request
}: Omit<ApprovalRequest & QuestionTerms, 'show' | 'facts'>): ApprovalRequest {
  const { editsSchema, editable } = request;
  if (editsSchema && editable !== true)
    throw invalidInput('`approval.editsSchema`', 'given with `"editable": true`', editable);
  if (editsSchema) checkSchemaSize('`approval.editsSchema`', editsSchema);
  const isQuestion = [choices, multiple, text, answerSchema].some((each) => each !== undefined);
  return isQuestion ? { ...request, answerSchema: toAnswerSchema({ choices, multiple, text, answerSchema }) } : request;
}

const suspendedResponse = ({ loaded, approval, child }: SuspendedRun): object => ({
  ...savedResponse(loaded),
  suspended: loaded.record.meta.status !== 'RUNNING',
  ...omitUndefined({ approval, child }),
});

/** An error of a remote agent, without the stack trace of this process. */
function toError({ message = 'No reason was given.', name = 'Error' }: NonNullable<FinishFields['error']>): Error {
  const error = Object.assign(new Error(message), { name });
  error.stack = `${name}: ${message}`;
  return error;
}

const createRuntime = ({ contexts, telemetry, clock = systemClock, deliver }: ActionOptions): Runtime => ({
  contexts,
  clock,
  random: Math.random,
  log: telemetry.log,
  ...omitUndefined({ deliver }),
});
