// The variables that agents read are separate constants, which keeps the handlers' names out of agent bundles.
export const TABLE_VARIABLE = 'WAITSTATE_TABLE';
export const BUCKET_VARIABLE = 'WAITSTATE_BUCKET';
export const KEY_VARIABLE = 'WAITSTATE_KMS_KEY';
export const UNENCRYPTED_VARIABLE = 'WAITSTATE_ACCEPT_UNENCRYPTED';
export const RETENTION_VARIABLE = 'WAITSTATE_RETENTION_SECONDS';
export const APPROVAL_URL_VARIABLE = 'WAITSTATE_APPROVAL_URL';

/** The environment variables that handlers and agents read. A deployment sets these and no others. */
export const ENVIRONMENT = {
  /** The DynamoDB table with the runs. */
  table: TABLE_VARIABLE,
  /** The S3 bucket with their payloads. */
  bucket: BUCKET_VARIABLE,
  /** The KMS key that encrypts runs. @default Waitstate does not encrypt runs */
  key: KEY_VARIABLE,
  /** `true` to also load runs that were written before there was a key. @default with a key, those runs are rejected */
  acceptUnencrypted: UNENCRYPTED_VARIABLE,
  /** The retention of runs that start here, in seconds after their last write. @default runs are kept forever */
  retentionSeconds: RETENTION_VARIABLE,
  /** The base URL of approval links. @default no approval links */
  approvalUrl: APPROVAL_URL_VARIABLE,
  /** The EventBridge bus for events about approvals and ended runs. @default none */
  bus: 'WAITSTATE_BUS',
  /** The SNS topic for approval notifications. @default none */
  topic: 'WAITSTATE_TOPIC',
  /** The Lambda functions of the agents, as JSON. @default none */
  agents: 'WAITSTATE_AGENTS',
  /** The JWT claims that identify API callers, as JSON. @default JWTs are not accepted */
  jwtCallers: 'WAITSTATE_JWT_CALLERS',
  /** The API callers by their IAM ARN, as JSON. @default IAM callers are not accepted */
  iamCallers: 'WAITSTATE_IAM_CALLERS',
  /** The origins whose pages may call the API (CORS), separated by commas. @default none */
  corsOrigins: 'WAITSTATE_CORS_ORIGINS',
  /** The only tenants of the deployment, as JSON. @default any; the gauge then counts the runs of ["default"] */
  tenants: 'WAITSTATE_TENANTS',
  /** The CloudWatch namespace of the metrics; give each deployment in an account its own. @default Waitstate */
  metricsNamespace: 'WAITSTATE_METRICS_NAMESPACE',
} as const;

export type EnvironmentName = keyof typeof ENVIRONMENT;

/**
 * The variable with the name of the `checkpoint` function, for agents in other languages; Waitstate does not read it.
 */
export const CHECKPOINT_FUNCTION_VARIABLE = 'WAITSTATE_CHECKPOINT_FUNCTION';

/** The Lambda handlers; each is in a module with its name. */
export const HANDLERS = ['api', 'checkpoint', 'gauge', 'notify', 'resume', 'sweep'] as const;

export type HandlerName = (typeof HANDLERS)[number];

/** A handler's service name in logs and the `service` dimension of its metrics. */
export const serviceOf = (handler: HandlerName): string => `waitstate-${handler}`;

const VARIABLES_READ = {
  agent: ['table', 'bucket', 'key', 'acceptUnencrypted', 'retentionSeconds', 'approvalUrl'],
  api: [
    'table',
    'bucket',
    'key',
    'acceptUnencrypted',
    'retentionSeconds',
    'agents',
    'jwtCallers',
    'iamCallers',
    'corsOrigins',
    'metricsNamespace',
  ],
  checkpoint: ['table', 'bucket', 'key', 'acceptUnencrypted', 'retentionSeconds', 'metricsNamespace'],
  gauge: ['table', 'tenants', 'metricsNamespace'],
  notify: ['table', 'bucket', 'key', 'acceptUnencrypted', 'approvalUrl', 'bus', 'topic', 'agents', 'metricsNamespace'],
  resume: ['table', 'bucket', 'key', 'acceptUnencrypted', 'agents', 'metricsNamespace'],
  sweep: [
    ...(['table', 'bucket', 'key', 'acceptUnencrypted', 'approvalUrl', 'bus', 'topic', 'agents', 'tenants'] as const),
    'metricsNamespace',
  ],
} as const satisfies Record<HandlerName | 'agent', readonly EnvironmentName[]>;

/** Every variable that each handler, or the function of an agent, reads. */
export const VARIABLES_BY_HANDLER: Readonly<Record<HandlerName | 'agent', readonly EnvironmentName[]>> = VARIABLES_READ;

/** The names of the variables that one handler or agent function reads. */
export type VariablesOf<Who extends HandlerName | 'agent'> = (typeof VARIABLES_READ)[Who][number];
