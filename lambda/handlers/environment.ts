import { HoldpointError } from '../core/errors.ts';

/** The names of what handlers read from the environment. Whoever deploys them sets these, and nothing else. */
export const ENVIRONMENT = {
  /** The DynamoDB table of the runs. */
  table: 'HOLDPOINT_TABLE',
  /** The S3 bucket of their payloads. */
  bucket: 'HOLDPOINT_BUCKET',
  /** The KMS key of encrypted runs. @default runs are not encrypted by Holdpoint */
  key: 'HOLDPOINT_KMS_KEY',
  /** What links to approvals begin with. @default no links are made */
  approvalUrl: 'HOLDPOINT_APPROVAL_URL',
  /** The EventBridge bus for approvals and ends of runs. @default none */
  bus: 'HOLDPOINT_BUS',
  /** The SNS topic that people are told of approvals by. @default none */
  topic: 'HOLDPOINT_TOPIC',
  /** The functions of the agents, as JSON. @default none */
  agents: 'HOLDPOINT_AGENTS',
  /** Which claims of a JWT say who calls the API, as JSON. @default no JWT says it */
  jwtCallers: 'HOLDPOINT_JWT_CALLERS',
  /** Who calls the API by the ARN that IAM knows them by, as JSON. @default nobody in IAM may */
  iamCallers: 'HOLDPOINT_IAM_CALLERS',
} as const;

/** The function of an agent, and whether it gets its run claimed and loaded. */
export interface AgentFunction {
  /** A name or an ARN. */
  readonly function: string;
  readonly hydrate: boolean;
}

/** The functions by the names of their agents. */
export type Agents = ReadonlyMap<string, AgentFunction>;

/** What the environment says. */
export interface Environment {
  readonly table: string;
  readonly bucket: string;
  readonly key: string | undefined;
  readonly approvalUrl: string | undefined;
  readonly bus: string | undefined;
  readonly topic: string | undefined;
  readonly agents: Agents;
  /** What these two hold is read by the one handler that has callers. */
  readonly jwtCallers: string | undefined;
  readonly iamCallers: string | undefined;
}

/** Reads the environment; refuses one that handlers cannot work with. */
export function readEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  const optional = (name: string): string | undefined => variables[name]?.trim() || undefined;
  const required = (name: string, what: string): string =>
    optional(name) ?? refuse(name, `the name of ${what}`, variables[name] === undefined ? 'nothing' : 'an empty text');
  const approvalUrl = optional(ENVIRONMENT.approvalUrl);
  if (approvalUrl !== undefined && !/^https?:$/.test(URL.parse(approvalUrl)?.protocol ?? ''))
    refuse(ENVIRONMENT.approvalUrl, 'a URL such as https://approvals.example.com/approvals', approvalUrl);
  return {
    table: required(ENVIRONMENT.table, 'the DynamoDB table'),
    bucket: required(ENVIRONMENT.bucket, 'the S3 bucket'),
    key: optional(ENVIRONMENT.key),
    approvalUrl,
    bus: optional(ENVIRONMENT.bus),
    topic: optional(ENVIRONMENT.topic),
    agents: readAgents(optional(ENVIRONMENT.agents) ?? '{}'),
    jwtCallers: optional(ENVIRONMENT.jwtCallers),
    iamCallers: optional(ENVIRONMENT.iamCallers),
  };
}

const AGENTS_EXPECTED = '{"agent": "function name or ARN", "other": {"function": "…", "hydrate": true}} as JSON';

/** Reads the functions of agents; `{"refunds": "refunds-fn", "quotes": {"function": "quotes-fn", "hydrate": true}}`. */
export function readAgents(text: string): Agents {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    refuse(ENVIRONMENT.agents, AGENTS_EXPECTED, text);
  }
  if (!isRecord(given)) refuse(ENVIRONMENT.agents, AGENTS_EXPECTED, text);
  return new Map(Object.entries(given).map(([agent, value]) => [agent, readAgent(agent, value)]));
}

function readAgent(agent: string, value: unknown): AgentFunction {
  const { function: name, hydrate = false, ...rest } = isRecord(value) ? value : { function: value };
  const isKnown = Object.keys(rest).length === 0 && typeof hydrate === 'boolean';
  if (agent !== '' && typeof name === 'string' && name !== '' && isKnown) return { function: name, hydrate };
  return refuse(ENVIRONMENT.agents, AGENTS_EXPECTED, `for agent "${agent}": ${JSON.stringify(value)}`);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The error for a variable that nothing can be made of. */
export function refuse(name: string, expected: string, found: string): never {
  const cut = found.length > 200 ? `${found.slice(0, 200)}…` : found;
  throw new HoldpointError(
    'INVALID_INPUT',
    `The environment variable ${name} must be ${expected}; found ${cut}. Set it on the function, then deploy again.`,
  );
}
