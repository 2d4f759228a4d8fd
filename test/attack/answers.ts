import type { ProblemCode } from '../../lambda/http/problem.ts';
import { schemaErrors } from './json-schema.ts';
import { type OpenApi, type Operation, operationsAt } from './open-api.ts';
import { type AttackRequest, type AttackResponse, MARK } from './scene.ts';

// Complete by its type: a code that is added is known here, or this does not compile.
const CODES: Readonly<Record<ProblemCode, true>> = {
  ...{ INVALID_INPUT: true, UNSUPPORTED_VALUE: true, STALE_VERSION: true, RUN_NOT_FOUND: true, RUN_EXISTS: true },
  ...{ RUN_DELETED: true, RUN_EXPIRED: true, CHECKPOINT_NOT_FOUND: true, CHECKPOINT_PRUNED: true, NAME_TAKEN: true },
  ...{ TRANSITION_REFUSED: true, NOTHING_TO_UNDO: true, NOTHING_TO_REDO: true, DAMAGED: true, FORMAT_TOO_NEW: true },
  ...{ SCHEMA_INVALID: true, SCHEMA_TOO_NEW: true, MIGRATION_FAILED: true, KEY_UNAVAILABLE: true },
  ...{ RUN_NOT_ENCRYPTED: true, RUN_SHREDDED: true, STORAGE_MISSING: true, STORAGE_DENIED: true },
  ...{ STORAGE_UNAVAILABLE: true, STORAGE_FULL: true, RECORD_TOO_LARGE: true, CONDITION_FAILED: true },
  ...{ RUN_ENDED: true, SCHEMA_REFUSED: true, AGENT_NOT_FOUND: true, AGENT_MISUSED: true, STEP_MISMATCH: true },
  ...{ STEP_FAILED: true, OUTCOME_UNKNOWN: true, RUN_FAILED: true, RUN_CANCELLED: true, TIMED_OUT: true },
  ...{ APPROVAL_NOT_FOUND: true, APPROVAL_DECIDED: true, APPROVAL_EXPIRED: true, APPROVAL_WITHDRAWN: true },
  ...{ NOT_AN_APPROVER: true, NOT_AUTHENTICATED: true, NOT_ALLOWED: true, ROUTE_NOT_FOUND: true },
  ...{ METHOD_NOT_ALLOWED: true, PART_NOT_FOUND: true, BODY_TIMED_OUT: true, TOO_LARGE: true },
  ...{ UNSUPPORTED_TYPE: true, PRECONDITION_REQUIRED: true, UNEXPECTED: true },
};

/** What is wrong with an answer, whatever was asked; nothing when all is well. */
export function findProblems(
  openApi: OpenApi,
  operations: readonly Operation[],
  asked: AttackRequest,
  got: AttackResponse,
): readonly string[] {
  const url = new URL(`http://localhost${asked.path}`);
  return [
    ...failures(got),
    ...leaks(got),
    ...headerFaults(url, got),
    ...(isProblem(got) ? problemFaults(openApi, got) : []),
    ...(got.headers.get('content-type')?.startsWith('text/html') ? markupFaults(got) : []),
    ...(isConsole(url) ? [] : describedFaults(openApi, operationsAt(operations, url), asked.method, got)),
  ];
}

/** Of pages nothing is described but that they are pages. */
const isConsole = ({ pathname }: URL): boolean => /^\/(console(\/|$)|$)/.test(decodeURISafely(pathname));

const MARKUP = [/<script(?![^>]*\bsrc)[^>]*>/i, /<img src=x/i, /<[a-z][^<>]*\son\w+/i];

/** What only a stored text can have made of a page: tags and attributes of its own, or an address that runs. */
function markupFaults({ text }: AttackResponse): readonly string[] {
  const bare = text.replaceAll(/="[^"]*"/g, '');
  const found = [...MARKUP.map((pattern) => pattern.exec(bare)), /(href|src|action)="\s*javascript:/i.exec(text)];
  return found.flatMap((match) => (match ? [`It has markup of others: ${match[0]}`] : []));
}

const isProblem = ({ status, headers }: AttackResponse): boolean =>
  status >= 400 && headers.get('content-type')?.startsWith('text/html') !== true;

const failures = ({ status }: AttackResponse): readonly string[] =>
  status >= 500 ? [`It failed with ${status}.`] : [];

const INSIDES: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['a stack trace', /\n\s+at .+[:(]\d+|\bat \S+ \(.+:\d+:\d+\)/],
  ['a file of this machine', /node_modules|\.[jt]s:\d+|file:\/\/|node:internal/],
  ['a folder of this machine', new RegExp(process.cwd().replaceAll(/[/.]/g, '\\$&'))],
];

/** What nobody outside should see: insides of the program, and anything of the other tenant, however it is written. */
function leaks({ text, headers }: AttackResponse): readonly string[] {
  const all = [text, ...[...headers].map(([name, value]) => `${name}: ${value}`)].join('\n');
  const encoded = [...all.matchAll(/[\w+/-]{16,}/g)].map(([found]) => Buffer.from(found, 'base64').toString('latin1'));
  return [
    ...INSIDES.flatMap(([what, pattern]) => (pattern.test(all) ? [`It shows ${what}: ${pattern.exec(all)?.[0]}`] : [])),
    ...([all, ...encoded].some((each) => each.includes(MARK)) ? ['It shows something of the other tenant.'] : []),
  ];
}

function headerFaults({ pathname }: URL, { headers, status }: AttackResponse): readonly string[] {
  const policy = headers.get('content-security-policy') ?? '';
  const isAsset = pathname.startsWith('/approvals/assets/') && status === 200;
  const isLink = /^\/approvals/.test(decodeURISafely(pathname));
  const must: Readonly<Record<string, boolean>> = {
    'x-content-type-options': headers.get('x-content-type-options') === 'nosniff',
    'cache-control': isAsset || headers.get('cache-control') === 'no-store',
    'content-security-policy': policy.includes("default-src 'none'") && policy.includes("frame-ancestors 'none'"),
    'script of others': !/unsafe|\*|https?:|data:/.test(policy),
    'referrer-policy': (isLink ? ['no-referrer'] : ['no-referrer', 'same-origin']).includes(
      headers.get('referrer-policy') ?? '',
    ),
    'cross-origin-opener-policy': headers.get('cross-origin-opener-policy') === 'same-origin',
    'cross-origin-resource-policy': headers.get('cross-origin-resource-policy') === 'same-origin',
    'set-cookie': !headers.has('set-cookie'),
    'access-control-allow-origin': !headers.has('access-control-allow-origin'),
  };
  return Object.entries(must).flatMap(([name, holds]) => (holds ? [] : [`Its ${name} is ${headers.get(name)}.`]));
}

function decodeURISafely(text: string): string {
  try {
    return decodeURI(text);
  } catch {
    return text;
  }
}

function problemFaults({ components }: OpenApi, { status, headers, text }: AttackResponse): readonly string[] {
  if (headers.get('content-type') !== 'application/problem+json')
    return [`It refuses as ${headers.get('content-type')}.`];
  // To HEAD there is no body.
  if (text === '') return [];
  const problem = JSON.parse(text) as { readonly code: string; readonly status: number };
  return [
    ...schemaErrors(components.schemas, { $ref: '#/components/schemas/Problem' }, problem),
    ...(Object.hasOwn(CODES, problem.code) ? [] : [`The code ${problem.code} is none.`]),
    ...(problem.status === status ? [] : [`It says ${problem.status} and is ${status}.`]),
  ];
}

// What is answered before anybody looks where a request goes.
const BEFORE = [401, 403, 414];

function describedFaults(
  { components }: OpenApi,
  at: readonly Operation[],
  method: string,
  { status, headers, text }: AttackResponse,
): readonly string[] {
  if (at.length === 0)
    return [404, ...BEFORE].includes(status) || status < 400 ? [] : [`Nothing is there, and it is ${status}.`];
  const operation = at.find((each) => each.method === method.toUpperCase().replace('HEAD', 'GET'));
  if (!operation) return [405, ...BEFORE].includes(status) ? [] : [`It takes no ${method}, and is ${status}.`];
  const response = operation.responses[String(status)];
  if (!response) return [`${operation.name} is described without ${status}.`];
  const type = headers.get('content-type')?.replace(/;.*/, '') ?? '';
  const { content = {} } = response;
  const described = Object.entries(content).find(
    ([each]) => each === type || (each.endsWith('/*') && type.startsWith(each.slice(0, -1))),
  );
  if (text === '') return [];
  if (type === 'text/html' && operation.path.startsWith('/approvals/')) return [];
  if (!described) return [`${operation.name} is described without ${type} at ${status}.`];
  const { schema } = described[1];
  return type === 'application/json' && schema ? schemaErrors(components.schemas, schema, JSON.parse(text)) : [];
}
