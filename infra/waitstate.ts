import { Lazy, Names, Stack } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import type { Alarm, Dashboard as CloudWatchDashboard } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IConnectable } from 'aws-cdk-lib/aws-ec2';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { escapeId } from '../lambda/core/ids.ts';
import { omitUndefined } from '../lambda/core/omit-undefined.ts';
import type { HandlerName } from '../lambda/environment/names.ts';
import { ADMINISTER, grantAccess, RUN, type StorageResources, storageResources } from './access.ts';
import { acknowledgeWildcards } from './acknowledge.ts';
import { type AgentProps, AgentRegistry, grantInvoke, type WorkerAgentProps, warnIfTimeoutTooShort } from './agents.ts';
import { APPROVE, type ApiPermission, OPERATE, READ, START, WORK } from './api-permissions.ts';
import { CallerRegistry } from './callers.ts';
import { checkProps } from './check-props.ts';
import { createEntryFunction } from './entry-function.ts';
import { type EnvironmentValues, environmentFor, setEnvironment } from './environment.ts';
import { Handlers } from './handlers/handlers.ts';
import { createHttpEndpoints, type HttpEndpoint } from './http-endpoint.ts';
import { newAlarmTopic, newBus, newDeadLetterQueue, newTopic } from './messages.ts';
import { Alarms } from './operating/alarms.ts';
import { Dashboard } from './operating/dashboard.ts';
import { functionVisibleTo } from './other-stacks.ts';
import { addOutputs } from './outputs.ts';
import { type ResolvedProps, resolveProps } from './resolved-props.ts';
import { newBucket, newTable } from './storage.ts';
import { Tenants } from './tenants.ts';
import { type VpcEndpointService, VpcEndpoints } from './vpc-endpoints.ts';
import type { JwtProps, WaitstateProps } from './waitstate-props.ts';

/** Restricts a permission to one tenant. */
export interface TenantOptions {
  /** @default all tenants of the Waitstate */
  readonly tenant?: string;
}

/** Which VPC endpoints to add. */
export interface VpcEndpointOptions {
  /** @default all services that the functions call: dynamodb, s3, lambda, events, sns, and kms with `runKey` */
  readonly services?: readonly VpcEndpointService[];
}

/** The tenant of an API caller. */
export interface CallerOptions {
  /** @default the only tenant of the Waitstate, or "default" if it allows any */
  readonly tenant?: string;
}

/** Options of `grantStart`. */
export interface StartCallerOptions extends CallerOptions {
  /**
   * Whether the grantee may name the person who requests a run, with `requestedBy`: for a service that authenticates its
   * users. Approvals with `excludeRequester` rely on it. @default false
   */
  readonly forOthers?: boolean;
}

/**
 * Durable execution for agents in your AWS account: a table, a bucket, functions that resume agents and serve approval
 * links, API and console, and a dashboard with alarms.
 */
export class Waitstate extends Construct {
  readonly table: ITable;
  readonly bucket: IBucket;
  readonly bus: IEventBus;
  /** Receives notifications about approvals. */
  readonly topic: ITopic;
  readonly deadLetterQueue: IQueue;
  readonly handlers: Readonly<Record<HandlerName, LambdaFunction>>;
  /** API and console for IAM callers. */
  readonly httpApi: HttpApi;
  readonly apiUrl: string;
  /** API and console for JWT callers; undefined without `jwt`. */
  readonly jwtHttpApi: HttpApi | undefined;
  readonly jwtApiUrl: string | undefined;
  /** Unique for each Waitstate in an account. */
  readonly metricsNamespace: string;
  /** Receives alarms; undefined without alarms. */
  readonly alarmTopic: ITopic | undefined;
  /** Undefined without a dashboard. */
  readonly dashboard: CloudWatchDashboard | undefined;

  readonly #props: ResolvedProps;
  readonly #tenants: Tenants;
  readonly #storage: StorageResources;
  readonly #callers: CallerRegistry;
  readonly #agents = new AgentRegistry();
  readonly #environment: EnvironmentValues;
  readonly #handlers: Handlers;
  readonly #endpoint: HttpEndpoint;
  readonly #alarms: Alarms | undefined;
  readonly #dashboard: Dashboard | undefined;
  /** The functions in the network. */
  readonly #vpcFunctions: IConnectable[] = [];
  #vpcEndpoints: VpcEndpoints | undefined;

  constructor(scope: Construct, id: string, given: WaitstateProps = {}) {
    super(scope, id);
    checkProps(this, given);
    const props = resolveProps(given);
    this.#props = props;
    this.#tenants = new Tenants(this.node.path, props.tenants);
    this.table = props.table ?? newTable(this, props);
    this.bucket = props.bucket ?? newBucket(this, props);
    this.bus = props.bus ?? newBus(this);
    this.topic = props.topic ?? newTopic(this, props);
    this.deadLetterQueue = newDeadLetterQueue(this);
    this.metricsNamespace = `Waitstate/${Names.uniqueResourceName(this, { maxLength: 100, separator: '-' })}`;
    this.#storage = storageResources(this.table, this.bucket, props);
    this.#callers = new CallerRegistry(props.iamCallers);
    this.#environment = this.#environmentValues(props);
    this.#handlers = new Handlers(this, {
      props,
      storage: this.#storage,
      tenants: this.#tenants,
      environment: this.#environment,
    });
    this.#handlers.addTriggers(this);
    this.handlers = this.#handlers.byName;
    for (const fn of Object.values(this.handlers)) this.#connectToEndpoints(fn);

    const { iam, jwt } = createHttpEndpoints(this, this.handlers.api, props);
    this.#endpoint = iam;
    this.httpApi = iam.api;
    this.apiUrl = iam.url;
    this.jwtHttpApi = jwt?.api;
    this.jwtApiUrl = jwt?.url;

    const apis = jwt ? [iam.api, jwt.api] : [iam.api];
    const { table, bucket, handlers, deadLetterQueue, metricsNamespace: namespace } = this;
    const monitored = {
      table,
      bucket,
      handlers,
      deadLetterQueue,
      namespace,
      apis,
      sweepMinutes: props.sweepEvery.toMinutes(),
    };
    this.alarmTopic = props.alarms ? (props.alarmTopic ?? newAlarmTopic(this, props)) : undefined;
    this.#alarms = this.alarmTopic && new Alarms(this, 'Alarms', { topic: this.alarmTopic, monitored });
    this.#dashboard = props.dashboard
      ? new Dashboard(this, 'Dashboard', { monitored, alarms: this.#alarms?.all ?? [] })
      : undefined;
    this.dashboard = this.#dashboard?.dashboard;
    const { key } = this.#environment;
    const { apiUrl, jwtApiUrl } = this;
    addOutputs(this, omitUndefined({ table: table.tableName, bucket: bucket.bucketName, key, apiUrl, jwtApiUrl }));
  }

  /** All alarms, including those of the agents that were added so far; none without `alarms`. */
  get alarms(): readonly Alarm[] {
    return this.#alarms?.all ?? [];
  }

  /**
   * Adds an agent under the name in its code. Its function gets the environment and permissions, and receives its runs.
   */
  addAgent(name: string, agent: AgentProps): IFunction {
    const id = `Agent-${escapeId('agent', name)}`;
    this.#agents.checkName(this.node.path, name);
    const { deadLetterQueue } = this;
    const fn =
      agent.entry !== undefined
        ? createEntryFunction(this, id, agent, { name, props: this.#props, deadLetterQueue })
        : agent.function;
    const target = functionVisibleTo(this, id, fn);
    const hydrate = agent.hydrate ?? false;
    warnIfTimeoutTooShort(this, fn);
    this.#connectToEndpoints(fn);
    if (hydrate) this.#handlers.enableHydration(fn, agent.tenant);
    else this.connect(fn, agent);
    this.#agents.add(name, target, { hydrate, tenants: agent.tenant === undefined ? undefined : [agent.tenant] });
    for (const handler of ['resume', 'notify', 'sweep'] as const) grantInvoke(this.handlers[handler], target);
    this.#alarms?.addAgent(name, target);
    this.#dashboard?.addAgent(name, target);
    return fn;
  }

  /**
   * Adds an agent in any language whose runs are claimed by workers: processes that you run yourself, such as containers.
   * Allow them to with `grantWork`.
   */
  addWorkerAgent(name: string, { notify, tenant }: WorkerAgentProps = {}): void {
    const id = `Agent-${escapeId('agent', name)}`;
    this.#agents.checkName(this.node.path, name);
    const target = notify && functionVisibleTo(this, id, notify);
    if (notify) this.#connectToEndpoints(notify);
    this.#agents.addWorkers(name, target, { tenants: tenant === undefined ? undefined : [tenant] });
    if (target) for (const handler of ['notify', 'sweep'] as const) grantInvoke(this.handlers[handler], target);
  }

  /**
   * Sets the environment and permissions with which a function uses the library directly on the storage, as agents do.
   * For a function that only starts, decides or reads, use `grantStart`, `grantApprove` or `grantRead`.
   */
  connect(fn: IFunction, options: TenantOptions = {}): Grant {
    setEnvironment(this, fn, environmentFor('agent', this.#environment));
    return this.grantStore(fn, options);
  }

  /**
   * Adds VPC endpoints to `vpc`, so that the functions work in subnets without internet access. Endpoints for DynamoDB and
   * S3 are free; AWS charges for the others by the hour and zone. Pass `services` to leave out those that the network has.
   */
  addVpcEndpoints({ services = this.#calledServices() }: VpcEndpointOptions = {}): VpcEndpoints {
    const { vpc, vpcSubnets } = this.#props;
    if (!vpc) throw new Error(`${this.node.path}: VPC endpoints require a network. Set \`vpc\`.`);
    const endpoints = new VpcEndpoints(this, 'VpcEndpoints', { vpc, subnets: vpcSubnets, services });
    this.#vpcEndpoints = endpoints;
    for (const fn of this.#vpcFunctions) endpoints.allowFrom(fn);
    return endpoints;
  }

  /** The services that the functions call with these props. */
  #calledServices(): readonly VpcEndpointService[] {
    return ['dynamodb', 's3', 'lambda', 'events', 'sns', ...(this.#props.runKey ? (['kms'] as const) : [])];
  }

  /** Grants access to table and bucket, to save, load and change runs with the library. */
  grantStore(grantee: IGrantable, { tenant }: TenantOptions = {}): Grant {
    return grantAccess(grantee, this.#storage, RUN, this.#tenants.restrictedTo(tenant));
  }

  /**
   * Grants everything that the command line does with this stack, which includes listing, pruning and deleting runs.
   */
  grantAdminister(grantee: IGrantable, { tenant }: TenantOptions = {}): Grant {
    const { tableArn } = this.table;
    const describe = [
      this.#grantDescribeStack(grantee),
      Grant.addToPrincipal({
        grantee,
        actions: ['dynamodb:DescribeTable', 'dynamodb:DescribeTimeToLive'],
        resourceArns: [tableArn],
      }),
    ];
    // The `due` index contains records of all tenants.
    const access = tenant === undefined ? ADMINISTER : { ...ADMINISTER, lists: ['status', 'owner'] as const };
    return describe.reduce(
      (all, grant) => all.combine(grant),
      grantAccess(grantee, this.#storage, access, this.#tenants.restrictedTo(tenant)),
    );
  }

  /** The command line knows the stack by name. IAM then compares the ARN with `*` in place of the stack's UUID. */
  #grantDescribeStack(grantee: IGrantable): Grant {
    const stack = Stack.of(this);
    const stackArn = stack.formatArn({
      service: 'cloudformation',
      resource: 'stack',
      resourceName: `${stack.stackName}/*`,
    });
    acknowledgeWildcards(grantee.grantPrincipal, [stackArn], 'A stack that is found by name has no known UUID.');
    return Grant.addToPrincipal({
      grantee,
      actions: ['cloudformation:DescribeStacks'],
      resourceArns: [stackArn],
    });
  }

  /** Grants permission to start runs with `POST /api/runs`. */
  grantStart(grantee: IGrantable, { forOthers = false, ...options }: StartCallerOptions = {}): Grant {
    return this.#grantApi(grantee, { ...START, startsForOthers: forOthers }, options);
  }

  /** Grants permission to show approvals and to decide on behalf of people, for a portal that authenticates them. */
  grantApprove(grantee: IGrantable, options: CallerOptions = {}): Grant {
    return this.#grantApi(grantee, APPROVE, options);
  }

  /** Grants permission to claim runs and to execute them, for the workers of agents in any language. */
  grantWork(grantee: IGrantable, options: CallerOptions = {}): Grant {
    return this.#grantApi(grantee, WORK, options);
  }

  /** Grants permission to read runs in the API and the console. */
  grantRead(grantee: IGrantable, options: CallerOptions = {}): Grant {
    return this.#grantApi(grantee, READ, options);
  }

  /** Grants all actions of operators in the API and the console. */
  grantOperate(grantee: IGrantable, options: CallerOptions = {}): Grant {
    return this.#grantApi(grantee, OPERATE, options);
  }

  #connectToEndpoints(fn: IFunction): void {
    if (!fn.isBoundToVpc) return;
    this.#vpcFunctions.push(fn);
    this.#vpcEndpoints?.allowFrom(fn);
  }

  #grantApi(grantee: IGrantable, permission: ApiPermission, { tenant }: CallerOptions): Grant {
    return this.#callers.grant(this.#endpoint, grantee, permission, this.#tenants.single(tenant));
  }

  #environmentValues({
    runKey,
    acceptUnencrypted,
    retention,
    bus,
    jwt,
    corsOrigins,
    tenants,
  }: ResolvedProps): EnvironmentValues {
    return {
      table: this.table.tableName,
      bucket: this.bucket.bucketName,
      key: runKey?.keyArn,
      acceptUnencrypted: acceptUnencrypted ? 'true' : undefined,
      retentionSeconds: retention?.toSeconds().toString(),
      // An existing bus may be in another account, so it needs its ARN.
      bus: bus?.eventBusArn ?? this.bus.eventBusName,
      topic: this.topic.topicArn,
      // Known only after the functions that read them have been created.
      approvalUrl: Lazy.string({ produce: () => `${this.apiUrl}/approvals` }),
      agents: Lazy.string({ produce: () => this.#agents.toJson() }),
      iamCallers: Lazy.string({ produce: () => this.#callers.toJson() }),
      jwtCallers: jwt && toCallersJson(jwt),
      corsOrigins: corsOrigins.length > 0 ? corsOrigins.join(',') : undefined,
      tenants: tenants && JSON.stringify(tenants),
      metricsNamespace: this.metricsNamespace,
    };
  }
}

/** The claims that identify a caller, without issuer and audience, which API Gateway checks. */
const toCallersJson = ({ issuer: _issuer, audience: _audience, ...callers }: JwtProps): string =>
  JSON.stringify(callers);
