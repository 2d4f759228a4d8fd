import type { ProblemCode } from '../../lambda/http/problem.ts';
import { schemaErrors } from './json-schema.ts';
import { type OpenApi, type Operation, operationsAt } from './open-api.ts';
import { type AttackRequest, type AttackResponse, MARK } from './scene.ts';

// The type makes this list complete: it does not compile when a new code is missing.
const CODES: Readonly<Record<ProblemCode, true>> = {
  ...{ INVALID_INPUT: true, UNSUPPORTED_VALUE: true, STALE_VERSION: true, RUN_NOT_FOUND: true, RUN_EXISTS: true },
  ...{ RUN_DELETED: true, RUN_EXPIRED: true, CHECKPOINT_NOT_FOUND: true, CHECKPOINT_PRUNED: true, NAME_TAKEN: true },
  ...{ TRANSITION_REFUSED: true, NOTHING_TO_UNDO: true, NOTHING_TO_REDO: true, DAMAGED: true, FORMAT_TOO_NEW: true },
  ...{ SCHEMA_INVALID: true, SCHEMA_TOO_NEW: true, MIGRATION_FAILED: true, KEY_UNAVAILABLE: true },
  ...{ RUN_NOT_ENCRYPTED: true, RUN_SHREDDED: true, STORAGE_MISSING: true, STORAGE_DENIED: true },
  ...{ STORAGE_UNAVAILABLE: true, STORAGE_FULL: true, RECORD_TOO_LARGE: true, CONDITION_FAILED: true },
  ...{
    LEASE_LOST: true,
    RUN_ENDED: true,
    SCHEMA_REFUSED: true,
    AGENT_NOT_FOUND: true,
    AGENT_MISUSED: true,
    STEP_MISMATCH: true,
  },
  ...{ STEP_FAILED: true, OUTCOME_UNKNOWN: true, RUN_FAILED: true, RUN_CANCELLED: true, TIMED_OUT: true },
  ...{
    APPROVAL_NOT_FOUND: true,
    APPROVAL_DECIDED: true,
    APPROVAL_CHANGED: true,
    APPROVAL_EXPIRED: true,
    APPROVAL_WITHDRAWN: true,
  },
  ...{
    NOT_AN_APPROVER: true,
    REQUESTER_UNKNOWN: true,
    IDEMPOTENCY_KEY_REUSED: true,
    NOT_AUTHENTICATED: true,
    NOT_ALLOWED: true,
    ROUTE_NOT_FOUND: true,
  },
  ...{ METHOD_NOT_ALLOWED: true, PART_NOT_FOUND: true, BODY_TIMED_OUT: true, TOO_LARGE: true },
  ...{ UNSUPPORTED_TYPE: true, PRECONDITION_REQUIRED: true, UNEXPECTED: true },
};

/** Finds what is wrong with a response, whatever the request was; empty if nothing is. */
export function findProblems(
  openApi: OpenApi,
  operations: readonly Operation[],
  request: AttackRequest,
  got: AttackResponse,
): readonly string[] {
  const url = new URL(`http://localhost${request.path}`);
  return [
    ...failures(got),
    ...leaks(got),
    ...headerProblems(url, got),
    ...(isProblem(got) ? problemProblems(openApi, got) : []),
    ...(got.headers.get('content-type')?.startsWith('text/html') ? markupProblems(got) : []),
    ...(isConsole(url) ? [] : descriptionProblems(openApi, operationsAt(operations, url), request.method, got)),
  ];
}

/** The OpenAPI document does not describe console pages. */
const isConsole = ({ pathname }: URL): boolean => /^\/(console(\/|$)|$)/.test(decodeURISafely(pathname));

const MARKUP = [/<script(?![^>]*\bsrc)[^>]*>/i, /<img src=x/i, /<[a-z][^<>]*\son\w+/i];

/** Markup that a stored text injected into a page: tags, event handlers, or `javascript:` URLs. */
function markupProblems({ text }: AttackResponse): readonly string[] {
  const bare = text.replaceAll(/="[^"]*"/g, '');
  const found = [...MARKUP.map((pattern) => pattern.exec(bare)), /(href|src|action)="\s*javascript:/i.exec(text)];
  return found.flatMap((match) => (match ? [`The page contains injected markup: ${match[0]}`] : []));
}

const isProblem = ({ status, headers }: AttackResponse): boolean =>
  status >= 400 && headers.get('content-type')?.startsWith('text/html') !== true;

const failures = ({ status }: AttackResponse): readonly string[] =>
  status >= 500 ? [`The request failed with status ${status}.`] : [];

const INTERNALS: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['a stack trace', /\n\s+at .+[:(]\d+|\bat \S+ \(.+:\d+:\d+\)/],
  ['a file of this machine', /node_modules|\.[jt]s:\d+|file:\/\/|node:internal/],
  ['a folder of this machine', new RegExp(process.cwd().replaceAll(/[/.]/g, '\\$&'))],
];

/** Internals of the program, and data of the other tenant in any encoding. */
function leaks({ text, headers }: AttackResponse): readonly string[] {
  const all = [text, ...[...headers].map(([name, value]) => `${name}: ${value}`)].join('\n');
  const encoded = [...all.matchAll(/[\w+/-]{16,}/g)].map(([found]) => Buffer.from(found, 'base64').toString('latin1'));
  return [
    ...INTERNALS.flatMap(([what, pattern]) =>
      pattern.test(all) ? [`The response shows ${what}: ${pattern.exec(all)?.[0]}`] : [],
    ),
    ...([all, ...encoded].some((each) => each.includes(MARK)) ? ['The response shows data of the other tenant.'] : []),
  ];
}

function headerProblems({ pathname }: URL, { headers, status }: AttackResponse): readonly string[] {
  const policy = headers.get('content-security-policy') ?? '';
  const isAsset = pathname.startsWith('/approvals/assets/') && status === 200;
  const isLink = /^\/approvals/.test(decodeURISafely(pathname));
  const must: Readonly<Record<string, boolean>> = {
    'x-content-type-options': headers.get('x-content-type-options') === 'nosniff',
    'cache-control': isAsset || headers.get('cache-control') === 'no-store',
    'content-security-policy': policy.includes("default-src 'none'") && policy.includes("frame-ancestors 'none'"),
    'external sources': !/unsafe|\*|https?:|data:/.test(policy),
    'referrer-policy': (isLink ? ['no-referrer'] : ['no-referrer', 'same-origin']).includes(
      headers.get('referrer-policy') ?? '',
    ),
    'cross-origin-opener-policy': headers.get('cross-origin-opener-policy') === 'same-origin',
    'cross-origin-resource-policy': headers.get('cross-origin-resource-policy') === 'same-origin',
    'set-cookie': !headers.has('set-cookie'),
    'access-control-allow-origin': !headers.has('access-control-allow-origin'),
  };
  return Object.entries(must).flatMap(([name, isMet]) =>
    isMet ? [] : [`The header ${name} is ${headers.get(name)}.`],
  );
}

function decodeURISafely(text: string): string {
  try {
    return decodeURI(text);
  } catch {
    return text;
  }
}

function problemProblems({ components }: OpenApi, { status, headers, text }: AttackResponse): readonly string[] {
  if (headers.get('content-type') !== 'application/problem+json')
    return [`Expected an error as application/problem+json; found ${headers.get('content-type')}.`];
  // A response to HEAD has no body.
  if (text === '') return [];
  const problem = JSON.parse(text) as { readonly code: string; readonly status: number };
  return [
    ...schemaErrors(components.schemas, { $ref: '#/components/schemas/Problem' }, problem),
    ...(Object.hasOwn(CODES, problem.code) ? [] : [`The error code ${problem.code} is unknown.`]),
    ...(problem.status === status ? [] : [`The problem has status ${problem.status}, the response ${status}.`]),
  ];
}

// Statuses that a request gets before it is routed.
const BEFORE_ROUTING = [401, 403, 414];

function descriptionProblems(
  { components }: OpenApi,
  at: readonly Operation[],
  method: string,
  { status, headers, text }: AttackResponse,
): readonly string[] {
  if (at.length === 0)
    return [404, ...BEFORE_ROUTING].includes(status) || status < 400
      ? []
      : [`Expected status 404 where no operation is described; found ${status}.`];
  const operation = at.find((each) => each.method === method.toUpperCase().replace('HEAD', 'GET'));
  if (!operation)
    return [405, ...BEFORE_ROUTING].includes(status) ? [] : [`Expected status 405 for ${method}; found ${status}.`];
  const response = operation.responses[String(status)];
  if (!response) return [`The description of ${operation.name} lacks status ${status}.`];
  const type = headers.get('content-type')?.replace(/;.*/, '') ?? '';
  const { content = {} } = response;
  const described = Object.entries(content).find(
    ([each]) => each === type || (each.endsWith('/*') && type.startsWith(each.slice(0, -1))),
  );
  if (text === '') return [];
  if (type === 'text/html' && operation.path.startsWith('/approvals/')) return [];
  if (!described) return [`The description of ${operation.name} lacks ${type} for status ${status}.`];
  const { schema } = described[1];
  return type === 'application/json' && schema ? schemaErrors(components.schemas, schema, JSON.parse(text)) : [];
}
