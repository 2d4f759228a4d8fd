import type { Duration, RemovalPolicy } from 'aws-cdk-lib';
import type { ICertificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { IHostedZone } from 'aws-cdk-lib/aws-route53';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { HandlerName } from '../lambda/environment/names.ts';
import type { IamCaller, JwtCallers } from '../lambda/http/authorizer-caller.ts';

/** The props of the construct `Waitstate`; all of them are optional. */
export interface WaitstateProps {
  /** How long a run is kept after its last write. @default forever */
  readonly retention?: Duration;
  /**
   * The tenants of this deployment: all roles are restricted to their keys, and the dashboard counts their runs.
   * @default any tenant is allowed, and the dashboard counts the runs of `default`
   */
  readonly tenants?: readonly string[];

  /**
   * An existing table with the keys and indexes of `TABLE`, its time to live, and a stream of new and old images.
   * @default a new table
   */
  readonly table?: ITable;
  /** An existing bucket that is used for nothing else. @default a new bucket */
  readonly bucket?: IBucket;
  /** Whether the bucket keeps deleted objects for 30 days. @default false */
  readonly versioned?: boolean;
  /** The bucket for S3 server access logs. @default no access logs */
  readonly accessLogBucket?: IBucket;
  /**
   * Encrypts table, bucket, topics and logs at rest. Keep a key that you replace, and list it in
   * `retiredEncryptionKeys`: CloudWatch needs it for the logs that it encrypted.
   * @default keys that AWS owns or manages
   */
  readonly encryptionKey?: IKey;
  /**
   * Previous values of `encryptionKey`, which still encrypt the objects and logs that were written under them.
   * @default none
   */
  readonly retiredEncryptionKeys?: readonly IKey[];
  /**
   * Wraps a key per run, with which functions encrypt its content before they store it.
   * @default runs are not encrypted
   */
  readonly runKey?: IKey;
  /** Whether runs that were written before `runKey` was set are accepted. @default false: they are refused */
  readonly acceptUnencrypted?: boolean;
  /** Previous values of `runKey`, which still decrypt the runs that they wrapped. @default none */
  readonly retiredRunKeys?: readonly IKey[];
  /** The removal policy of table, bucket and logs. @default RETAIN */
  readonly removalPolicy?: RemovalPolicy;
  /** Whether DynamoDB refuses to delete the table. @default true, unless `removalPolicy` is DESTROY */
  readonly deletionProtection?: boolean;

  /** The EventBridge bus for events about approvals and ended runs. @default a new bus */
  readonly bus?: IEventBus;
  /** The SNS topic for notifications about approvals. @default a new topic */
  readonly topic?: ITopic;
  /** The SNS topic that alarms notify. @default a new topic */
  readonly alarmTopic?: ITopic;
  /** Whether to create alarms. @default true */
  readonly alarms?: boolean;
  /** Whether to create a dashboard. @default true */
  readonly dashboard?: boolean;
  /**
   * Whether API Gateway writes metrics for each route, in addition to those of the API. CloudWatch charges for each
   * metric of a route that has requests. @default false
   */
  readonly routeMetrics?: boolean;

  /** Runs all functions in this network, which must reach the AWS services. @default none */
  readonly vpc?: IVpc;
  /** @default private subnets with egress */
  readonly vpcSubnets?: SubnetSelection;
  /** @default one for each function */
  readonly securityGroups?: readonly ISecurityGroup[];
  /**
   * The start of all function names: `orders` gives `orders-api` and `orders-agent-refunds`. Names must be unique in an
   * account and region. @default CloudFormation generates the names
   */
  readonly functionNamePrefix?: string;
  /** How long logs are kept. @default three months */
  readonly logRetention?: RetentionDays;
  /**
   * Concurrent executions to reserve for each handler. Lambda keeps 100 of the account unreserved, so an account with a
   * lower quota can reserve none. @default none
   */
  readonly reservedConcurrency?: Readonly<Partial<Record<HandlerName, number>>>;
  /** The interval of the sweeper. @default one minute */
  readonly sweepEvery?: Duration;

  /** The number of parallel sweepers, 1 to 8; each one processes a part of the due records. @default 1 */
  readonly sweepers?: number;

  /**
   * IAM callers of the API by ARN, in addition to grants; `*` matches any text without a slash.
   * @default only grantees can call it
   */
  readonly iamCallers?: Readonly<Record<string, IamCaller>>;
  /** Creates a second API, whose callers authenticate with a JWT. @default none */
  readonly jwt?: JwtProps;
  /**
   * The origins of sites whose pages may call `/api`, such as `https://portal.example.com`.
   * @default none: CORS is off
   */
  readonly corsOrigins?: readonly string[];
  /** Requests per second that each route of an API accepts from all callers together. @default 100 */
  readonly throttleRate?: number;
  /** Requests that each route accepts in a burst. @default 200 */
  readonly throttleBurst?: number;
  /**
   * The custom domain of approval links and of the API for IAM callers.
   * @default the domain that API Gateway generates
   */
  readonly domainName?: string;
  /** The certificate of `domainName`, in the region of the stack. @default none; required with `domainName` */
  readonly certificate?: ICertificate;
  /**
   * Whether the API for IAM callers is reachable only at `domainName`, as behind CloudFront with a web application
   * firewall. @default false: the domain that API Gateway generates works, too
   */
  readonly disableExecuteApiEndpoint?: boolean;
  /** The zone that gets a DNS record for `domainName`. @default none: you create the record */
  readonly hostedZone?: IHostedZone;
}

/** The issuer and audience of tokens, and the claims that identify a caller. */
export type JwtProps = JwtCallers & {
  /** For example `https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_abc`; see `cognitoIssuer`. */
  readonly issuer: string;
  readonly audience: readonly string[];
};
