import { createHash } from 'node:crypto';
import * as z from 'zod';
import { type Doc, withoutAgentCode, withTenant } from '../../checkpoints/engine.ts';
import { ON_TIMEOUT_ACTIONS } from '../../core/approval-request.ts';
import { isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { AppOptions } from '../../http/app-options.ts';
import type { Caller } from '../../http/caller.ts';
import { checkAgent } from '../../http/check-agent.ts';
import { MAX_CONTENT_BYTES } from '../../http/limits.ts';
import { HttpError } from '../../http/problem.ts';
import { LOAD_ROLES, requesterOf, WORK_ROLES } from '../../http/roles.ts';
import type { Operator } from '../../operator/operator.ts';
import { performAction } from '../../protocol/actions.ts';
import { type Action, parseRequest } from '../../protocol/request.ts';
import { MAX_EVENTS } from '../../runtime/invocation/emitted-events.ts';
import { canonicalJson } from '../../runtime/operations/canonical.ts';
import { deliverIfReady } from '../../runtime/wake/wake.ts';
import { MAX_VERSION } from '../../storage/keys.ts';
import { type Route, route } from '../route.ts';
import { Saved, Upload } from '../schemas/checkpoints.ts';
import { Loaded } from '../schemas/invocation.ts';
import { namedSchema } from '../schemas/named.ts';
import {
  Approver,
  Document,
  Duration,
  Name,
  Person,
  RunId,
  runParams,
  StringList,
  Tags,
  Version,
} from '../schemas/values.ts';

const conditionalHeaders = z.strictObject({
  'if-match': z
    .string()
    .max(100)
    .optional()
    .describe('The version that this checkpoint follows, in quotes, such as "14"; "0" for a new run'),
  'if-none-match': z.string().max(100).optional().describe('`*` for a new run, instead of If-Match'),
  'idempotency-key': z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('A repeated request with the same key returns what the first one wrote; another request gets 422'),
});

/** The fields that every saving request accepts. The protocol validates each of them again. */
const saveFields = {
  state: Document.optional(),
  stateFrom: z.strictObject({ upload: z.string() }).optional().describe('A state that was uploaded before'),
  step: z.string().min(1).max(1000).optional(),
  toolResults: z.record(z.string(), Document).optional(),
  undoable: StringList.optional().describe(
    'Which of the tool results the agent can undo: if the run is cancelled while it waits, it becomes ENDING for that',
  ),
  forgetToolResults: z.union([z.literal(true), StringList]).optional(),
  name: Name.optional(),
  moveName: z.boolean().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  model: z.record(z.string(), Document).optional(),
  events: z.array(Document).max(MAX_EVENTS).optional().describe('Events to record, for readers who follow the run'),
  agent: Name.optional(),
};

const JsonSchemaDocument = z.record(z.string(), z.unknown());

const ApprovalRequest = namedSchema(
  'ApprovalRequest',
  z.strictObject({
    name: z.string().min(1).max(200),
    title: z.string().min(1).max(500),
    show: Document.optional(),
    approvers: z.array(Approver),
    quorum: z.int().min(1).max(100).optional(),
    timeout: Duration.optional(),
    remindAfter: Duration.optional(),
    escalateTo: z.array(Approver).optional(),
    escalateAfter: Duration.optional(),
    onTimeout: z.enum(ON_TIMEOUT_ACTIONS).optional(),
    openGroups: z.boolean().optional(),
    excludeRequester: z.boolean().optional(),
    facts: z.record(z.string(), Document).optional(),
    editable: z.boolean().optional(),
    editsSchema: JsonSchemaDocument.optional().describe(
      'The JSON Schema of the edits, from which approvers get a form',
    ),
    choices: z.array(Document).optional().describe('Asks a question: the values of which people choose one'),
    multiple: z.boolean().optional().describe('With `choices`: people choose one or more'),
    text: z
      .union([z.literal(true), z.strictObject({ maxLength: z.int().min(1).optional() })])
      .optional()
      .describe('Asks a question that is answered with text'),
    answerSchema: JsonSchemaDocument.optional().describe('Asks a question: the JSON Schema of the answer'),
  }),
);

const WaitName = z.string().min(1).max(200);

const Call = namedSchema(
  'Call',
  z
    .strictObject({
      agent: Name,
      name: WaitName.optional().describe('The name of the call. Default: the name of the agent'),
      input: Document.optional(),
      run: RunId.optional().describe('The id of the child run. Default: derived from the run and the name of the call'),
    })
    .describe('A child run to start and wait for. One that exists is not started again'),
);

/** What a request to wait asks for: exactly one of three. */
function waitAction({ signal, timeout, sleep, duration, call }: z.infer<z.ZodObject>): Action {
  const given = Object.entries({ signal, sleep, call }).flatMap(([name, value]) => (value === undefined ? [] : name));
  if (given.length !== 1)
    throw invalidInput('A wait', 'sent with exactly one of `signal`, `sleep` and `call`', given.join(', ') || 'none');
  if (timeout !== undefined && signal === undefined)
    throw invalidInput('`timeout`', 'sent only with `signal`', `\`${given[0]}\``);
  if ((duration !== undefined) !== (sleep !== undefined))
    throw invalidInput('`duration`', 'sent with `sleep`, and only then', duration === undefined ? 'nothing' : duration);
  return sleep === undefined ? (call === undefined ? 'waitForSignal' : 'call') : 'sleep';
}

const ETAG = { etag: 'The saved version, in quotes' };

/** Routes for agents in other languages: save, request an approval, wait, finish and load. */
export const PROTOCOL_ROUTES: readonly Route[] = [
  saveRoute({
    action: 'save',
    path: '/api/runs/{run}/checkpoints',
    name: 'saveCheckpoint',
    summary: 'Save a checkpoint on top of the version in If-Match',
    schema: namedSchema(
      'Save',
      z.strictObject({
        ...saveFields,
        status: z.enum(['RUNNING', 'READY']).optional(),
        owner: Name.optional(),
        requestedBy: Person.optional().describe(
          'The person who requests a new run, for callers who may start runs for others. Default: the caller',
        ),
        tags: Tags.optional(),
        retention: Duration.optional(),
      }),
    ),
  }),
  saveRoute({
    action: 'requestApproval',
    path: '/api/runs/{run}/approvals',
    name: 'askApproval',
    summary: 'Save a checkpoint, request an approval and suspend the run until it is decided',
    schema: namedSchema('Ask', z.strictObject({ ...saveFields, approval: ApprovalRequest })),
  }),
  saveRoute({
    action: waitAction,
    path: '/api/runs/{run}/waits',
    name: 'wait',
    summary:
      'Save a checkpoint and suspend the run until a signal arrives, a time has passed, or a child run has ended',
    description: 'Send exactly one of `signal`, `sleep` and `call`.',
    schema: z.strictObject({
      ...saveFields,
      signal: WaitName.optional(),
      timeout: Duration.optional(),
      sleep: WaitName.optional(),
      duration: Duration.optional(),
      call: Call.optional(),
    }),
    described: namedSchema(
      'WaitRequest',
      z.union([
        z.strictObject({
          ...saveFields,
          signal: WaitName.describe('Waits for a signal of this name'),
          timeout: Duration.optional().describe('How long to wait for the signal'),
        }),
        z.strictObject({
          ...saveFields,
          sleep: WaitName.describe('The name of a sleep'),
          duration: Duration.describe('How long the sleep lasts'),
        }),
        z.strictObject({ ...saveFields, call: Call }),
      ]),
    ),
  }),
  saveRoute({
    action: 'finish',
    path: '/api/runs/{run}/finish',
    name: 'finishRun',
    summary: 'Save a final checkpoint and end the run',
    schema: namedSchema(
      'Finish',
      z.strictObject({
        ...saveFields,
        status: z.enum(['SUCCEEDED', 'FAILED']),
        result: Document.optional(),
        error: z
          .strictObject({ message: z.string().max(10_000).optional(), name: z.string().max(10_000).optional() })
          .optional(),
      }),
    ),
  }),

  route({
    method: 'GET',
    path: '/api/runs/{run}/load',
    access: LOAD_ROLES,
    name: 'loadRun',
    params: runParams,
    summary: 'Load a checkpoint with everything that an agent needs to resume from it',
    query: z.strictObject({ version: Version.optional(), name: Name.optional() }),
    responses: { 200: { description: 'The checkpoint', schema: Loaded, headers: { etag: 'The version, in quotes' } } },
    problems: [404, 410, 413],
    async handle({ api, operator, params: { run }, query }) {
      const loaded = (await performProtocolAction(api, operator, 'load', run, query)) as {
        checkpoint: { version: number };
      };
      return { status: 200, json: loaded, headers: { etag: `"${loaded.checkpoint.version}"` } };
    },
  }),

  route({
    method: 'POST',
    path: '/api/runs/{run}/uploads',
    access: WORK_ROLES,
    name: 'makeUpload',
    params: runParams,
    summary:
      'Create an upload URL for a state that is too large for a body; save it with `stateFrom` within 15 minutes',
    body: { schema: namedSchema('MakeUpload', z.strictObject({})) },
    responses: { 201: { description: 'The upload URL', schema: Upload } },
    async handle({ api, operator, params: { run }, body }) {
      await body();
      return { status: 201, json: await performProtocolAction(api, operator, 'upload', run, {}) };
    },
  }),
];

interface SaveRouteSpec extends Pick<Route, 'path' | 'name' | 'summary' | 'description'> {
  readonly action: Action | ((body: z.infer<z.ZodObject>) => Action);
  readonly schema: z.ZodObject;
  /** How the OpenAPI document describes the body. @default the schema */
  readonly described?: z.ZodType;
}

function saveRoute({ action: actionOf, schema, described, ...spec }: SaveRouteSpec): Route {
  return route({
    ...spec,
    method: 'POST',
    access: WORK_ROLES,
    params: runParams,
    headers: conditionalHeaders,
    body: { schema, ...omitUndefined({ described }) },
    responses: { 201: { description: 'Saved', schema: Saved, headers: ETAG } },
    problems: [404, 409, 410, 412, 422, 428],
    async handle({ api, operator, caller, params: { run }, headers, body }) {
      const expectedVersion = parseExpectedVersion(headers);
      const given = await body();
      const action = typeof actionOf === 'string' ? actionOf : actionOf(given);
      const { agent: called } = Object(given.call) as { readonly agent?: string };
      if (called !== undefined) await checkAgent(api, operator.tenant, called);
      const fields = action === 'save' ? withRequester(caller, expectedVersion, given) : given;
      const key = headers['idempotency-key'];
      const writeId = key === undefined ? undefined : toWriteId(key, action, fields);
      try {
        const saved = await performProtocolAction(api, operator, action, run, {
          ...fields,
          expectedVersion,
          ...omitUndefined({ writeId }),
        });
        await deliverReadyRuns(api, operator, action, run);
        const { version } = saved as { version: number };
        return { status: 201, json: { run, ...saved }, headers: { etag: `"${version}"` } };
      } catch (error) {
        if (!isWaitstateError(error, 'STALE_VERSION')) throw error;
        if (key !== undefined) await checkSameRequest(operator, run, expectedVersion, key);
        throw await staleVersionProblem(operator, run, expectedVersion);
      }
    },
  });
}

/** Identifies a save with an idempotency key: by the key, and by what it saves, whatever the order of its fields. */
const toWriteId = (key: string, action: Action, fields: object): string =>
  `${keyPrefix(key)}${hashOf(canonicalJson([action, omitUndefined(fields) as Doc]))}`;

const keyPrefix = (key: string): string => `key ${hashOf(key)} `;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 27);

/** Throws IDEMPOTENCY_KEY_REUSED if another request with the key wrote the checkpoint after the expected version. */
async function checkSameRequest(operator: Operator, run: string, expected: number, key: string): Promise<void> {
  const next = expected + 1;
  const { checkpoints } = await operator.history(run, { from: next, to: next });
  if (!checkpoints[0]?.writeId.startsWith(keyPrefix(key))) return;
  throw new WaitstateError(
    'IDEMPOTENCY_KEY_REUSED',
    `The idempotency key was used before for another request, which wrote version ${next}. Nothing was saved. Repeat the first request unchanged, or use a new key.`,
  );
}

/** Names the person who requests the run in the first save of a run. */
function withRequester(caller: Caller, expectedVersion: number, { requestedBy: named, ...fields }: Named): object {
  const requestedBy = named === undefined && expectedVersion > 0 ? undefined : requesterOf(caller, named);
  return { ...fields, ...omitUndefined({ requestedBy }) };
}

type Named = Readonly<Record<string, unknown>> & { readonly requestedBy?: string };

/** Performs an action of the protocol for agents in other languages. */
function performProtocolAction(
  api: AppOptions,
  operator: Operator,
  action: Action,
  run: string,
  fields: object,
): Promise<object> {
  const { runtime, signedUrls, telemetry } = api;
  const contexts = withoutAgentCode(withTenant(runtime.contexts, operator.tenant));
  const request = parseRequest({ waitstate: 1, action, tenant: operator.tenant, run, ...fields });
  const { clock, deliver } = runtime;
  const options = { contexts, signedUrls, telemetry, clock, deliver, maxBytes: MAX_CONTENT_BYTES };
  return performAction(options, request);
}

/** Delivers the saved run if it is ready, and after its end the run that called it. */
async function deliverReadyRuns(
  { runtime }: AppOptions,
  operator: Operator,
  action: Action,
  run: string,
): Promise<void> {
  if (!runtime.deliver) return;
  const { forRun: inRun } = withTenant(runtime.contexts, operator.tenant);
  await deliverIfReady(runtime, await inRun(run));
  const { parent } = action === 'finish' ? await operator.run(run) : {};
  if (parent) await deliverIfReady(runtime, await inRun(parent.run));
}

/** The version that a save must follow. It is required, since concurrent writers would overwrite each other. */
function parseExpectedVersion(headers: z.infer<typeof conditionalHeaders>): number {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  if (match !== undefined && noneMatch !== undefined)
    throw invalidInput('A request', 'sent with If-Match or If-None-Match', 'both');
  if (noneMatch !== undefined) {
    if (noneMatch.trim() === '*') return 0;
    throw invalidInput('If-None-Match', '* for a new run', noneMatch);
  }
  if (match === undefined)
    throw new HttpError(
      428,
      'PRECONDITION_REQUIRED',
      'Send the version that this follows: If-Match with the version in quotes, such as "14", or If-None-Match: * for a new run.',
    );
  const version = Number(/^\s*"(\d{1,12})"\s*$/.exec(match)?.[1] ?? Number.NaN);
  if (version >= 0 && version <= MAX_VERSION) return version;
  throw invalidInput('If-Match', 'one version in quotes, such as "14"', match);
}

/** The 412 problem after a conflict. It reports the current version, which may be newer than the conflicting one. */
async function staleVersionProblem(operator: Operator, run: string, expected: number): Promise<HttpError> {
  const { checkpoints } = await operator.history(run, { newestFirst: true, limit: 1 });
  const { version = 0, status } = checkpoints[0] ?? {};
  return new HttpError(
    412,
    'STALE_VERSION',
    `Expected version ${expected}; run "${run}" is at version ${version}. Load it and try again.`,
    { found: { version, ...omitUndefined({ status }) }, headers: { etag: `"${version}"` } },
  );
}
