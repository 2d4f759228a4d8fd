import { Lazy, Names, Stack } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import type { Alarm, Dashboard as CloudWatchDashboard } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
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
import { type AgentProps, AgentRegistry, grantInvoke, warnIfTimeoutTooShort } from './agents.ts';
import { APPROVE, type ApiPermission, CallerRegistry, OPERATE, READ, START } from './callers.ts';
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
import type { JwtProps, WaitstateProps } from './waitstate-props.ts';

/** Whose runs a permission is about. */
export interface TenantOptions {
  /** @default all that the Waitstate has */
  readonly tenant?: string;
}

/** Whose runs a caller of the API sees. */
export interface CallerOptions {
  /** @default the only one that the Waitstate has; "default" where it may have any */
  readonly tenant?: string;
}

/**
 * Durable checkpoints for agents, in your own account: a table, a bucket, the functions that wake agents and serve links,
 * API and console, and what it takes to operate them.
 */
export class Waitstate extends Construct {
  readonly table: ITable;
  readonly bucket: IBucket;
  readonly bus: IEventBus;
  /** People are told of approvals here. */
  readonly topic: ITopic;
  readonly deadLetterQueue: IQueue;
  readonly handlers: Readonly<Record<HandlerName, LambdaFunction>>;
  /** The API and the console, for callers by IAM. */
  readonly httpApi: HttpApi;
  readonly apiUrl: string;
  /** The same for callers by JWT; undefined without `jwt`. */
  readonly jwtHttpApi: HttpApi | undefined;
  readonly jwtApiUrl: string | undefined;
  /** Two Waitstates in one account have two. */
  readonly metricsNamespace: string;
  /** Where alarms go; undefined without alarms. */
  readonly alarmTopic: ITopic | undefined;
  readonly alarms: readonly Alarm[];
  /** Undefined without a dashboard. */
  readonly dashboard: CloudWatchDashboard | undefined;

  readonly #props: ResolvedProps;
  readonly #tenants: Tenants;
  readonly #keeping: StorageResources;
  readonly #callers: CallerRegistry;
  readonly #agents = new AgentRegistry();
  readonly #values: EnvironmentValues;
  readonly #handlers: Handlers;
  readonly #entrance: HttpEndpoint;
  readonly #board: Dashboard | undefined;

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
    this.#keeping = storageResources(this.table, this.bucket, props);
    this.#callers = new CallerRegistry(props.iamCallers);
    this.#values = this.#valuesOf(props);
    this.#handlers = new Handlers(this, {
      ...{ props, keeping: this.#keeping, tenants: this.#tenants, values: this.#values },
    });
    this.#handlers.addTriggers(this);
    this.handlers = this.#handlers.byName;

    const { iam, jwt } = createHttpEndpoints(this, this.handlers.api, props);
    this.#entrance = iam;
    this.httpApi = iam.api;
    this.apiUrl = iam.url;
    this.jwtHttpApi = jwt?.api;
    this.jwtApiUrl = jwt?.url;

    const apis = jwt ? [iam.api, jwt.api] : [iam.api];
    const { table, bucket, handlers, deadLetterQueue, metricsNamespace: namespace } = this;
    const measured = {
      table,
      bucket,
      handlers,
      deadLetterQueue,
      namespace,
      apis,
      sweepMinutes: props.sweepEvery.toMinutes(),
    };
    this.alarmTopic = props.alarms ? (props.alarmTopic ?? newAlarmTopic(this, props)) : undefined;
    this.alarms = this.alarmTopic ? new Alarms(this, 'Alarms', { topic: this.alarmTopic, measured }).all : [];
    this.#board = props.dashboard ? new Dashboard(this, 'Dashboard', { measured, alarms: this.alarms }) : undefined;
    this.dashboard = this.#board?.dashboard;
    const { key } = this.#values;
    const { apiUrl, jwtApiUrl } = this;
    addOutputs(this, omitUndefined({ table: table.tableName, bucket: bucket.bucketName, key, apiUrl, jwtApiUrl }));
  }

  /** Adds an agent under the name that its code has: its function gets its environment and permissions, and its runs. */
  addAgent(name: string, agent: AgentProps): IFunction {
    const id = `Agent-${escapeId('agent', name)}`;
    this.#agents.checkName(this.node.path, name);
    const { deadLetterQueue } = this;
    const fn =
      agent.entry !== undefined
        ? createEntryFunction(this, id, agent, { name, props: this.#props, deadLetterQueue })
        : agent.function;
    const known = functionVisibleTo(this, id, fn);
    const hydrate = agent.hydrate ?? false;
    warnIfTimeoutTooShort(this, fn);
    if (hydrate) this.#handlers.enableHydration(fn, agent.tenant);
    else this.connect(fn, agent);
    this.#agents.add(name, known, { hydrate, tenants: agent.tenant === undefined ? undefined : [agent.tenant] });
    for (const handler of ['resume', 'notify', 'sweep'] as const) grantInvoke(this.handlers[handler], known);
    this.#board?.addAgent(name, known);
    return fn;
  }

  /**
   * Lets a function use the library on the runs themselves, as agents do: it gets the environment and permissions for that.
   * Who only starts, answers or looks is better granted that.
   */
  connect(fn: IFunction, options: TenantOptions = {}): Grant {
    setEnvironment(this, fn, environmentFor('agent', this.#values));
    return this.grantStore(fn, options);
  }

  /** Lets somebody save, load and change runs in table and bucket, by the library. */
  grantStore(grantee: IGrantable, { tenant }: TenantOptions = {}): Grant {
    return grantAccess(grantee, this.#keeping, RUN, this.#tenants.restrictedTo(tenant));
  }

  /** Lets somebody do all that the command does with this stack: also list, prune and delete runs. */
  grantAdminister(grantee: IGrantable, { tenant }: TenantOptions = {}): Grant {
    const find = Grant.addToPrincipal({
      grantee,
      actions: ['cloudformation:DescribeStacks'],
      resourceArns: [Stack.of(this).stackId],
    });
    // The list of what is due is that of all tenants.
    const access = tenant === undefined ? ADMINISTER : { ...ADMINISTER, lists: ['status', 'owner'] as const };
    return grantAccess(grantee, this.#keeping, access, this.#tenants.restrictedTo(tenant)).combine(find);
  }

  /** Lets somebody start runs by `POST /api/runs`. */
  grantStart(grantee: IGrantable, options: CallerOptions = {}): Grant {
    return this.#permit(grantee, START, options);
  }

  /** Lets somebody show people what they are asked, and answer in their names: a portal with a login of its own. */
  grantApprove(grantee: IGrantable, options: CallerOptions = {}): Grant {
    return this.#permit(grantee, APPROVE, options);
  }

  /** Lets somebody look at runs, in the API and the console. */
  grantRead(grantee: IGrantable, options: CallerOptions = {}): Grant {
    return this.#permit(grantee, READ, options);
  }

  /** Lets somebody do all that operators do, in the API and the console. */
  grantOperate(grantee: IGrantable, options: CallerOptions = {}): Grant {
    return this.#permit(grantee, OPERATE, options);
  }

  #permit(grantee: IGrantable, permit: ApiPermission, { tenant }: CallerOptions): Grant {
    return this.#callers.grant(this.#entrance, grantee, permit, this.#tenants.single(tenant));
  }

  #valuesOf({ runKey, acceptUnencrypted, retention, bus, jwt, corsOrigins }: ResolvedProps): EnvironmentValues {
    return {
      table: this.table.tableName,
      bucket: this.bucket.bucketName,
      key: runKey?.keyArn,
      acceptUnencrypted: acceptUnencrypted ? 'true' : undefined,
      retentionSeconds: retention?.toSeconds().toString(),
      // One that is brought may be of another account.
      bus: bus?.eventBusArn ?? this.bus.eventBusName,
      topic: this.topic.topicArn,
      // These come after the functions that read of them.
      approvalUrl: Lazy.string({ produce: () => `${this.apiUrl}/approvals` }),
      agents: Lazy.string({ produce: () => this.#agents.toJson() }),
      iamCallers: Lazy.string({ produce: () => this.#callers.toJson() }),
      jwtCallers: jwt && callersJson(jwt),
      corsOrigins: corsOrigins.length > 0 ? corsOrigins.join(',') : undefined,
      tenants: JSON.stringify(this.#tenants.measured),
      metricsNamespace: this.metricsNamespace,
    };
  }
}

/** Which claims say who calls; who issues them is for the gateway to know. */
const callersJson = ({ issuer: _, audience: __, ...callers }: JwtProps): string => JSON.stringify(callers);
