import { createHash } from 'node:crypto';
import { ON_TIMEOUT_ACTIONS } from '../core/approval-request.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { MAX_EVENTS } from '../runtime/invocation/emitted-events.ts';
import { isToolId, RESERVED_PREFIXES } from '../runtime/remote/wait.ts';
import { MAX_VERSION } from '../storage/keys.ts';

/** The check of one field of a request. */
interface Field {
  readonly expected: string;
  readonly fits: (value: unknown) => boolean;
  readonly required?: true;
}

type Fields = Readonly<Record<string, Field>>;

/** A valid request. */
export interface CheckpointRequest {
  readonly action: Action;
  readonly tenant: string;
  readonly run: string | undefined;
  /** Equal for equal requests, so that a retried request is recognized. */
  readonly writeId: string;
  readonly fields: object;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const text = (most: number): Field => ({
  expected: `text of 1 to ${most} characters`,
  fits: (value) => typeof value === 'string' && value !== '' && value.length <= most && value.isWellFormed(),
});
const number = (least: number, most: number): Field => ({
  expected: `a whole number from ${least} to ${most}`,
  fits: (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most,
});
const oneOf = (...values: readonly unknown[]): Field => ({
  expected: values.map((value) => JSON.stringify(value)).join(' or '),
  fits: (value) => values.includes(value),
});
const recordOf = (expected: string, fits: (value: unknown) => boolean = () => true): Field => ({
  expected,
  fits: (value) => isRecord(value) && Object.values(value).every(fits),
});
const required = (field: Field): Field => ({ ...field, required: true });
const anything: Field = { expected: 'JSON', fits: () => true };
const duration = recordOf('a duration such as { "hours": 1, "minutes": 30 }', Number.isFinite);
const texts: Field = {
  expected: 'a list of texts',
  fits: (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
};

const RUN = text(256);
const TOOL_RESULTS: Field = {
  expected: `an object of results by call id; ids have at most 256 characters and begin with none of ${RESERVED_PREFIXES.join(' ')}`,
  fits: (value) => isRecord(value) && Object.keys(value).every(isToolId),
};

/** The fields of every action that saves a checkpoint. */
const SAVE_FIELDS: Fields = {
  run: required(RUN),
  expectedVersion: required(number(0, MAX_VERSION)),
  state: anything,
  stateFrom: {
    expected: '{ "upload": "the id that the action upload gave" }',
    fits: (value) =>
      isRecord(value) && Object.keys(value).join() === 'upload' && /^upload-[\w-]{16}$/.test(String(value.upload)),
  },
  step: text(1000),
  toolResults: TOOL_RESULTS,
  undoable: texts,
  forgetToolResults: {
    expected: 'true or a list of call ids',
    fits: (value) =>
      value === true || (Array.isArray(value) && value.every((id) => typeof id === 'string' && isToolId(id))),
  },
  name: text(256),
  moveName: oneOf(true, false),
  labels: recordOf('an object whose values are text', (value) => typeof value === 'string'),
  model: recordOf('an object of parameters'),
  events: {
    expected: `a list of at most ${MAX_EVENTS} events`,
    fits: (value) => Array.isArray(value) && value.length <= MAX_EVENTS,
  },
  writeId: text(200),
  agent: text(256),
};

const RUN_FIELDS: Fields = {
  owner: text(256),
  requestedBy: text(256),
  tags: texts,
  retention: duration,
};

/** The fields of each action. Unknown fields are refused, so that a misspelled one is not ignored. */
const ACTIONS = {
  start: { run: RUN, agent: required(text(256)), input: anything, timeout: duration, ...RUN_FIELDS },
  save: { ...SAVE_FIELDS, ...RUN_FIELDS, status: oneOf('RUNNING', 'READY') },
  load: { run: required(RUN), version: number(1, MAX_VERSION), name: text(256) },
  requestApproval: { ...SAVE_FIELDS, approval: required(recordOf('an object with name, title, approvers …')) },
  waitForSignal: { ...SAVE_FIELDS, signal: required(text(200)), timeout: duration },
  sleep: { ...SAVE_FIELDS, sleep: required(text(200)), duration: required(duration) },
  call: { ...SAVE_FIELDS, call: required(recordOf('an object with agent, input …')) },
  signal: { run: required(RUN), signal: required(text(200)), value: anything, id: text(200) },
  finish: {
    ...SAVE_FIELDS,
    status: required(oneOf('SUCCEEDED', 'FAILED')),
    result: anything,
    error: recordOf('{ "message": "…", "name": "…" }', (value) => typeof value === 'string' && value.length <= 10_000),
  },
  upload: { run: required(RUN) },
  download: { run: required(RUN), payload: required(text(100)), version: number(1, MAX_VERSION) },
} as const satisfies Record<string, Fields>;

export type Action = keyof typeof ACTIONS;

const APPROVAL_FIELDS: Fields = {
  name: required(text(200)),
  title: required(text(500)),
  show: anything,
  approvers: required(texts),
  quorum: number(1, 100),
  timeout: duration,
  remindAfter: duration,
  escalateTo: texts,
  escalateAfter: duration,
  onTimeout: oneOf(...ON_TIMEOUT_ACTIONS),
  facts: recordOf('an object of facts by name'),
  editable: oneOf(true, false),
  editsSchema: recordOf('a JSON Schema'),
  choices: { expected: 'a list of choices', fits: Array.isArray },
  multiple: oneOf(true, false),
  text: { expected: 'true or { "maxLength": 500 }', fits: (value) => value === true || isRecord(value) },
  answerSchema: recordOf('a JSON Schema'),
  openGroups: oneOf(true, false),
  excludeRequester: oneOf(true, false),
};

const CALL_FIELDS: Fields = { agent: required(text(256)), name: text(200), input: anything, run: RUN };

/** Validates a whole request before anything is done. */
export function parseRequest(event: unknown): CheckpointRequest {
  if (!isRecord(event)) throw invalidInput('The request', 'a JSON object', event);
  const { waitstate, action, tenant = 'default', ...fields } = event;
  if (waitstate !== 1) throw invalidInput('`waitstate`', '1, the version of the protocol', waitstate);
  if (typeof action !== 'string' || !Object.hasOwn(ACTIONS, action))
    throw invalidInput('`action`', `one of ${Object.keys(ACTIONS).join(', ')}`, action);
  if (typeof tenant !== 'string') throw invalidInput('`tenant`', 'text', tenant);
  checkFields(`A request to ${action}`, fields, ACTIONS[action as Action]);
  if (action === 'requestApproval') checkFields('`approval`', fields.approval as object, APPROVAL_FIELDS);
  if (action === 'call') checkFields('`call`', fields.call as object, CALL_FIELDS);
  if (fields.state !== undefined && fields.stateFrom !== undefined)
    throw invalidInput('A request', 'given either `state` or `stateFrom`', 'both');
  const { writeId = `request ${requestDigest(event)}` } = fields;
  return {
    action: action as Action,
    tenant,
    fields,
    writeId: String(writeId),
    run: fields.run as string | undefined,
  };
}

function checkFields(what: string, given: object, fields: Fields): void {
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(fields, name)) throw invalidInput(what, `made of ${Object.keys(fields).join(', ')}`, name);
  }
  for (const [name, { expected, fits, required }] of Object.entries(fields)) {
    const value = (given as Record<string, unknown>)[name];
    const isGiven = Object.hasOwn(given, name) && value !== undefined;
    if (isGiven ? !fits(value) : required) throw invalidInput(`\`${name}\``, expected, isGiven ? value : 'nothing');
  }
}

function requestDigest(event: object): string {
  let json: string;
  try {
    json = JSON.stringify(event);
  } catch {
    throw invalidInput('The request', 'nested at most a thousand levels deep', 'more');
  }
  return createHash('sha256').update(json).digest('base64url').slice(0, 27);
}
