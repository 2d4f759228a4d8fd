import { escapeId } from '../core/ids.ts';
import { parseJsonVariable, throwInvalidVariable } from '../environment/invalid-variable.ts';
import { isOrigin } from '../environment/is-origin.ts';
import {
  ENVIRONMENT,
  type EnvironmentName,
  type HandlerName,
  VARIABLES_BY_HANDLER,
  type VariablesOf,
} from '../environment/names.ts';
import { parseSecondsVariable } from '../environment/seconds-variable.ts';
import { type Agents, readAgents } from './agents.ts';

/** The parsed environment variables. */
export interface Environment {
  readonly table: string;
  readonly bucket: string;
  readonly key: string | undefined;
  readonly acceptUnencrypted: boolean;
  readonly retentionSeconds: number | undefined;
  readonly approvalUrl: string | undefined;
  readonly bus: string | undefined;
  readonly topic: string | undefined;
  readonly agents: Agents;
  /** Both are parsed by `api`, the only handler with callers. */
  readonly jwtCallers: string | undefined;
  readonly iamCallers: string | undefined;
  readonly corsOrigins: readonly string[];
  readonly tenants: readonly string[] | undefined;
  readonly metricsNamespace: string;
}

/** The parsed environment variables of one handler. */
export type HandlerEnvironment<Handler extends HandlerName> = Pick<Environment, VariablesOf<Handler>>;

/** Parses the environment variables that a handler uses. Throws INVALID_INPUT if one is missing or invalid. */
export function readEnvironment<Handler extends HandlerName>(
  handler: Handler,
  variables: NodeJS.ProcessEnv = process.env,
): HandlerEnvironment<Handler> {
  const read = VARIABLES_BY_HANDLER[handler].map((name) => [name, READERS[name](variables[ENVIRONMENT[name]])]);
  return Object.fromEntries(read) as HandlerEnvironment<Handler>;
}

type Reader<T> = (found: string | undefined) => T;

const readOptional: Reader<string | undefined> = (found) => found?.trim() || undefined;

const readRequired =
  (name: EnvironmentName, what: string): Reader<string> =>
  (found) =>
    readOptional(found) ??
    throwInvalidVariable(ENVIRONMENT[name], `the name of ${what}`, found === undefined ? 'nothing' : 'an empty text');

const READERS: { readonly [Name in EnvironmentName]: Reader<Environment[Name]> } = {
  table: readRequired('table', 'the DynamoDB table'),
  bucket: readRequired('bucket', 'the S3 bucket'),
  key: readOptional,
  acceptUnencrypted: (found) => readOptional(found) === 'true',
  retentionSeconds: (found) => parseSecondsVariable(ENVIRONMENT.retentionSeconds, found),
  approvalUrl: readUrl,
  bus: readOptional,
  topic: readOptional,
  agents: (found) => readAgents(readOptional(found) ?? '{}'),
  jwtCallers: readOptional,
  iamCallers: readOptional,
  corsOrigins: readOrigins,
  tenants: (found) => readTenants(readOptional(found)),
  metricsNamespace: readNamespace,
};

function readUrl(found: string | undefined): string | undefined {
  const url = readOptional(found);
  if (url === undefined || /^https?:$/.test(URL.parse(url)?.protocol ?? '')) return url;
  return throwInvalidVariable(ENVIRONMENT.approvalUrl, 'a URL such as https://approvals.example.com/approvals', url);
}

function readOrigins(found: string | undefined): readonly string[] {
  const origins = (found ?? '').split(',').flatMap((each) => readOptional(each) ?? []);
  const wrong = origins.find((each) => !isOrigin(each));
  if (wrong === undefined) return origins;
  return throwInvalidVariable(
    ENVIRONMENT.corsOrigins,
    'origins such as https://portal.example.com, separated by commas',
    wrong,
  );
}

/** https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDatum.html */
function readNamespace(found: string | undefined): string {
  const name = readOptional(found) ?? 'Waitstate';
  if (/^(?!AWS\/)[\w.\-/#: ]{1,255}$/.test(name)) return name;
  return throwInvalidVariable(
    ENVIRONMENT.metricsNamespace,
    'at most 255 letters, digits, spaces and . - _ / # :, and must not start with AWS/',
    name,
  );
}

function readTenants(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const expected = 'at least one tenant, such as ["default", "acme"] as JSON';
  const given = parseJsonVariable(ENVIRONMENT.tenants, expected, text);
  if (Array.isArray(given) && given.length > 0 && given.every(isTenant)) return [...new Set(given)];
  return throwInvalidVariable(ENVIRONMENT.tenants, expected, text);
}

function isTenant(value: unknown): value is string {
  try {
    return typeof value === 'string' && escapeId('tenant', value) !== '';
  } catch {
    return false;
  }
}
