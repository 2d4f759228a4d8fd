import { createHash } from 'node:crypto';
import { ON_TIMEOUT_ACTIONS } from '../core/approval-request.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { isToolId } from '../runtime/remote/wait.ts';
import { MAX_VERSION } from '../storage/keys.ts';

/** A field of a request: what it must be, and whether it must be there. */
interface Field {
  readonly expected: string;
  readonly fits: (value: unknown) => boolean;
  readonly required?: true;
}

type Fields = Readonly<Record<string, Field>>;

/** A request that was checked. */
export interface CheckpointRequest {
  readonly action: Action;
  readonly tenant: string;
  readonly run: string | undefined;
  /** The same for the same request, so that it is recognised when it comes again. */
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
const needed = (field: Field): Field => ({ ...field, required: true });
const anything: Field = { expected: 'JSON', fits: () => true };
const duration = recordOf('a duration such as { "hours": 1, "minutes": 30 }', Number.isFinite);
const texts: Field = {
  expected: 'a list of texts',
  fits: (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
};

const RUN = text(256);
const TOOL_RESULTS: Field = {
  expected:
    'an object of results by call id; ids have at most 256 characters and begin with none of @ approval/ signal/',
  fits: (value) => isRecord(value) && Object.keys(value).every(isToolId),
};

/** What every action has that saves. */
const SAVING: Fields = {
  run: needed(RUN),
  expectedVersion: needed(number(0, MAX_VERSION)),
  state: anything,
  stateFrom: {
    expected: '{ "upload": "the id that the action upload gave" }',
    fits: (value) =>
      isRecord(value) && Object.keys(value).join() === 'upload' && /^upload-[\w-]{16}$/.test(String(value.upload)),
  },
  step: text(1000),
  toolResults: TOOL_RESULTS,
  forgetToolResults: {
    expected: 'true or a list of call ids',
    fits: (value) =>
      value === true || (Array.isArray(value) && value.every((id) => typeof id === 'string' && isToolId(id))),
  },
  name: text(256),
  moveName: oneOf(true, false),
  labels: recordOf('an object whose values are text', (value) => typeof value === 'string'),
  model: recordOf('an object of parameters'),
  writeId: text(200),
  agent: text(256),
};

const HEAD: Fields = {
  owner: text(256),
  tags: texts,
  retentionSeconds: { expected: 'a number above 0', fits: (value) => typeof value === 'number' && value > 0 },
};

/** The fields of each action. Anything else is refused: a misspelled one would otherwise be lost in silence. */
const ACTIONS = {
  start: { run: RUN, agent: needed(text(256)), input: anything, timeout: duration, ...HEAD },
  save: { ...SAVING, ...HEAD, status: oneOf('RUNNING', 'READY') },
  load: { run: needed(RUN), version: number(1, MAX_VERSION), name: text(256) },
  requestApproval: { ...SAVING, approval: needed(recordOf('an object with name, title, approvers …')) },
  waitForSignal: { ...SAVING, signal: needed(text(200)), timeout: duration },
  signal: { run: needed(RUN), signal: needed(text(200)), value: anything, id: text(200) },
  finish: {
    ...SAVING,
    status: needed(oneOf('SUCCEEDED', 'FAILED')),
    result: anything,
    error: recordOf('{ "message": "…", "name": "…" }', (value) => typeof value === 'string' && value.length <= 10_000),
  },
  upload: { run: needed(RUN) },
  download: { run: needed(RUN), payload: needed(text(100)), version: number(1, MAX_VERSION) },
} as const satisfies Record<string, Fields>;

export type Action = keyof typeof ACTIONS;

const APPROVAL: Fields = {
  name: needed(text(200)),
  title: needed(text(500)),
  show: anything,
  approvers: needed(texts),
  quorum: number(1, 100),
  timeout: duration,
  remindAfter: duration,
  escalateTo: texts,
  escalateAfter: duration,
  onTimeout: oneOf(...ON_TIMEOUT_ACTIONS),
  facts: recordOf('an object of facts by name'),
  editable: oneOf(true, false),
};

/** Checks a request from its envelope to its last field; refuses it before anything is done. */
export function parseRequest(event: unknown): CheckpointRequest {
  if (!isRecord(event)) throw invalidInput('The request', 'a JSON object', event);
  const { waitstate, action, tenant = 'default', ...fields } = event;
  if (waitstate !== 1)
    throw invalidInput('`waitstate`', '1, the number of the protocol that this function speaks', waitstate);
  if (typeof action !== 'string' || !Object.hasOwn(ACTIONS, action))
    throw invalidInput('`action`', `one of ${Object.keys(ACTIONS).join(', ')}`, action);
  if (typeof tenant !== 'string') throw invalidInput('`tenant`', 'text', tenant);
  checkFields(`A request to ${action}`, fields, ACTIONS[action as Action]);
  if (action === 'requestApproval') checkFields('`approval`', fields.approval as object, APPROVAL);
  if (fields.state !== undefined && fields.stateFrom !== undefined)
    throw invalidInput('A request', 'given `state` or `stateFrom`', 'both');
  const { writeId = `request ${digestOf(event)}` } = fields;
  return {
    ...{ action: action as Action, tenant, fields, writeId: String(writeId) },
    run: fields.run as string | undefined,
  };
}

function checkFields(what: string, given: object, fields: Fields): void {
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(fields, name)) throw invalidInput(what, `made of ${Object.keys(fields).join(', ')}`, name);
  }
  for (const [name, { expected, fits, required }] of Object.entries(fields)) {
    const value = (given as Record<string, unknown>)[name];
    const isThere = Object.hasOwn(given, name) && value !== undefined;
    if (isThere ? !fits(value) : required) throw invalidInput(`\`${name}\``, expected, isThere ? value : 'nothing');
  }
}

function digestOf(event: object): string {
  let json: string;
  try {
    json = JSON.stringify(event);
  } catch {
    throw invalidInput('The request', 'nested at most a thousand levels deep', 'more');
  }
  return createHash('sha256').update(json).digest('base64url').slice(0, 27);
}
