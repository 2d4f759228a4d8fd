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

/** What a Waitstate may be told; everything has a default. */
export interface WaitstateProps {
  /** How long a run is kept after its last write. @default for ever */
  readonly retention?: Duration;
  /**
   * The tenants that there are: every role is kept to their keys, and their runs are counted on the dashboard.
   * @default any tenant may be named, and the runs of `default` are counted
   */
  readonly tenants?: readonly string[];

  /** Your own table: with the keys and indexes of `TABLE`, its time to live, and a stream of new and old images. @default a new one */
  readonly table?: ITable;
  /** Your own bucket, for nothing else. @default a new one */
  readonly bucket?: IBucket;
  /** Whether the bucket keeps what was removed, for 30 days. @default false */
  readonly versioned?: boolean;
  /** Where S3 writes who asked for which object. @default nowhere */
  readonly accessLogBucket?: IBucket;
  /** Encrypts table, bucket, topics and logs at rest. @default keys of AWS */
  readonly encryptionKey?: IKey;
  /** Keys that encrypted at rest before `encryptionKey` did: what S3 holds from then is still under them. @default none */
  readonly retiredEncryptionKeys?: readonly IKey[];
  /** Wraps a key for each run, under which functions seal its content before they store it. @default runs are not sealed */
  readonly runKey?: IKey;
  /** Whether runs from before there was a `runKey` are opened, too. @default they are refused */
  readonly acceptUnencrypted?: boolean;
  /** Keys that wrapped runs before `runKey` did: they still open them. @default none */
  readonly retiredRunKeys?: readonly IKey[];
  /** Of table, bucket and logs. @default RETAIN */
  readonly removalPolicy?: RemovalPolicy;
  /** Whether DynamoDB refuses to delete the table. @default unless `removalPolicy` is DESTROY */
  readonly deletionProtection?: boolean;

  /** The bus for approvals and ends of runs. @default a new one */
  readonly bus?: IEventBus;
  /** The topic that people are told of approvals by. @default a new one */
  readonly topic?: ITopic;
  /** Where alarms go. @default a new topic */
  readonly alarmTopic?: ITopic;
  /** Whether there are alarms. @default true */
  readonly alarms?: boolean;
  /** Whether there is a dashboard. @default true */
  readonly dashboard?: boolean;

  /** Runs all functions in this network, which must lead to the services of AWS. @default none */
  readonly vpc?: IVpc;
  /** @default private subnets with a way out */
  readonly vpcSubnets?: SubnetSelection;
  /** @default one for each function */
  readonly securityGroups?: readonly ISecurityGroup[];
  /** How long logs are kept. @default three months */
  readonly logRetention?: RetentionDays;
  /** How many of a handler may run at once, reserved for it. @default none is reserved */
  readonly reservedConcurrency?: Readonly<Partial<Record<HandlerName, number>>>;
  /** How often somebody looks for what is due. @default every minute */
  readonly sweepEvery?: Duration;

  /** How many sweep side by side, 1 to 8, each a part of what is due. @default 1 */
  readonly sweepers?: number;

  /** Who may call the API by IAM, beside those who are granted it, by ARN; `*` is any text without a slash. @default nobody */
  readonly iamCallers?: Readonly<Record<string, IamCaller>>;
  /** Opens a second API, whose callers are known by a JWT. @default there is none */
  readonly jwt?: JwtProps;
  /** The origins of other sites whose pages may call `/api`, such as `https://portal.example.com`. @default none: CORS is off */
  readonly corsOrigins?: readonly string[];
  /** Requests a second that each route of an API takes, of all callers together. @default 100 */
  readonly throttleRate?: number;
  /** Requests that may come at once. @default 200 */
  readonly throttleBurst?: number;
  /** The name that links and the API for callers by IAM have. @default that which API Gateway gives */
  readonly domainName?: string;
  /** For the domain; in the region of the stack. @default there must be one where there is a domain */
  readonly certificate?: ICertificate;
  /** Gets a record for the domain. @default yours to make */
  readonly hostedZone?: IHostedZone;
}

/** Who issues tokens, for whom, and which of their claims say who calls. */
export type JwtProps = JwtCallers & {
  /** Such as `https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_abc`; `cognitoIssuer` gives that of a user pool. */
  readonly issuer: string;
  readonly audience: readonly string[];
};
