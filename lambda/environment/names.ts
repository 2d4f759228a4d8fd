// Those that agents read are constants of their own, so that their bundles have no names of handlers in them.
export const TABLE_VARIABLE = 'WAITSTATE_TABLE';
export const BUCKET_VARIABLE = 'WAITSTATE_BUCKET';
export const KEY_VARIABLE = 'WAITSTATE_KMS_KEY';
export const UNENCRYPTED_VARIABLE = 'WAITSTATE_ACCEPT_UNENCRYPTED';
export const RETENTION_VARIABLE = 'WAITSTATE_RETENTION_SECONDS';
export const APPROVAL_URL_VARIABLE = 'WAITSTATE_APPROVAL_URL';

/** The names of what handlers and agents read from the environment. Whoever deploys them sets these, and nothing else. */
export const ENVIRONMENT = {
  /** The DynamoDB table of the runs. */
  table: TABLE_VARIABLE,
  /** The S3 bucket of their payloads. */
  bucket: BUCKET_VARIABLE,
  /** The KMS key of encrypted runs. @default runs are not encrypted by Waitstate */
  key: KEY_VARIABLE,
  /** Whether runs from before there was a key are opened, too: `true`. @default they are refused where there is a key */
  acceptUnencrypted: UNENCRYPTED_VARIABLE,
  /** How many seconds runs that are begun here are kept after their last write. @default for ever */
  retentionSeconds: RETENTION_VARIABLE,
  /** What links to approvals begin with. @default no links are made */
  approvalUrl: APPROVAL_URL_VARIABLE,
  /** The EventBridge bus for approvals and ends of runs. @default none */
  bus: 'WAITSTATE_BUS',
  /** The SNS topic that people are told of approvals by. @default none */
  topic: 'WAITSTATE_TOPIC',
  /** The functions of the agents, as JSON. @default none */
  agents: 'WAITSTATE_AGENTS',
  /** Which claims of a JWT say who calls the API, as JSON. @default no JWT says it */
  jwtCallers: 'WAITSTATE_JWT_CALLERS',
  /** Who calls the API by the ARN that IAM knows them by, as JSON. @default nobody in IAM may */
  iamCallers: 'WAITSTATE_IAM_CALLERS',
  /** The origins of other sites whose pages may call the API, with commas between them. @default none */
  corsOrigins: 'WAITSTATE_CORS_ORIGINS',
  /** The tenants whose runs are counted, as JSON. @default ["default"] */
  tenants: 'WAITSTATE_TENANTS',
  /** The namespace of the metrics; two deployments in one account have two. @default Waitstate */
  metricsNamespace: 'WAITSTATE_METRICS_NAMESPACE',
} as const;

export type EnvironmentName = keyof typeof ENVIRONMENT;

/** The variable that tells an agent in another language which function is `checkpoint`; nothing here reads it. */
export const CHECKPOINT_FUNCTION_VARIABLE = 'WAITSTATE_CHECKPOINT_FUNCTION';

/** The handlers, each in a module of this name. */
export const HANDLERS = ['api', 'checkpoint', 'gauge', 'notify', 'resume', 'sweep'] as const;

export type HandlerName = (typeof HANDLERS)[number];

/** What a handler calls itself in logs, traces and the dimension `service` of its metrics. */
export const serviceOf = (handler: HandlerName): string => `waitstate-${handler}`;

const VARIABLES_READ = {
  agent: ['table', 'bucket', 'key', 'acceptUnencrypted', 'retentionSeconds', 'approvalUrl'],
  api: [
    ...([
      'table',
      'bucket',
      'key',
      'acceptUnencrypted',
      'retentionSeconds',
      'agents',
      'jwtCallers',
      'iamCallers',
      'corsOrigins',
    ] as const),
    'metricsNamespace',
  ],
  checkpoint: ['table', 'bucket', 'key', 'acceptUnencrypted', 'retentionSeconds', 'metricsNamespace'],
  gauge: ['table', 'tenants', 'metricsNamespace'],
  notify: ['table', 'bucket', 'key', 'acceptUnencrypted', 'approvalUrl', 'bus', 'topic', 'agents', 'metricsNamespace'],
  resume: ['table', 'bucket', 'key', 'acceptUnencrypted', 'agents', 'metricsNamespace'],
  sweep: ['table', 'bucket', 'key', 'acceptUnencrypted', 'approvalUrl', 'bus', 'topic', 'agents', 'metricsNamespace'],
} as const satisfies Record<HandlerName | 'agent', readonly EnvironmentName[]>;

/** What each handler, and the function of an agent, reads: all of it, and nothing else. */
export const VARIABLES_BY_HANDLER: Readonly<Record<HandlerName | 'agent', readonly EnvironmentName[]>> = VARIABLES_READ;

/** The names that one of them reads. */
export type VariablesOf<Who extends HandlerName | 'agent'> = (typeof VARIABLES_READ)[Who][number];
