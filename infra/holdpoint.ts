import { Annotations, Duration, Lazy, Names, Stack } from 'aws-cdk-lib';
import { HttpIamAuthorizer, HttpJwtAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { type IFunction, Function as LambdaFunction, QualifiedFunctionBase } from 'aws-cdk-lib/aws-lambda';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { escapeId } from '../lambda/core/ids.ts';
import { present } from '../lambda/core/present.ts';
import type { AgentFunction } from '../lambda/handlers/agents.ts';
import {
  CHECKPOINT_FUNCTION_VARIABLE,
  ENVIRONMENT,
  type EnvironmentName,
  HANDLERS,
  type HandlerName,
  READ_BY,
} from '../lambda/handlers/environment.ts';
import { ADMINISTER, grantAccess, type Keeping, RUN } from './access.ts';
import { type AgentProps, entryFunction } from './agents.ts';
import { APPROVE, Callers, OPERATE, type Permit, READ, START } from './callers.ts';
import { checkProps } from './check-props.ts';
import { DEPLOYED, handlerFunction } from './handlers/handler-functions.ts';
import type { HoldpointProps, JwtProps } from './holdpoint-props.ts';
import { HttpEntrance, type OwnDomain } from './http-entrance.ts';
import { grantPublish, newAlarmTopic, newBus, newDeadLetters, newTopic } from './messages.ts';
import { Alarms } from './operating/alarms.ts';
import { Dashboard } from './operating/dashboard.ts';
import type { Measured } from './operating/measures.ts';
import { functionKnownTo } from './other-stacks.ts';
import { addOutputs } from './outputs.ts';
import { newBucket, newTable } from './storage.ts';
import { onSchedule, onStream, sweepEvents } from './waking.ts';

/** Whose runs a permission is about. */
export interface TenantOptions {
  /** @default the only one of the Holdpoint, else "default" */
  readonly tenant?: string;
}

/**
 * Durable checkpoints for agents, in your own account: a table, a bucket, the functions that wake agents and serve links,
 * API and console, and what it takes to operate them.
 */
export class Holdpoint extends Construct {
  readonly table: ITable;
  readonly bucket: IBucket;
  readonly bus: IEventBus;
  /** People are told of approvals here. */
  readonly topic: ITopic;
  readonly deadLetters: IQueue;
  readonly handlers: Readonly<Record<HandlerName, LambdaFunction>>;
  /** Of the API and the console, for callers by IAM. */
  readonly apiUrl: string;
  /** The same for callers by JWT; undefined without `jwt`. */
  readonly jwtApiUrl: string | undefined;
  /** Two Holdpoints in one account have two. */
  readonly metricsNamespace: string;
  /** Where alarms go; undefined without alarms. */
  readonly alarmTopic: ITopic | undefined;
  readonly alarms: Alarms | undefined;
  readonly dashboard: Dashboard | undefined;

  readonly #props: HoldpointProps;
  readonly #keeping: Keeping;
  readonly #callers: Callers;
  readonly #entrance: HttpEntrance;
  readonly #values: Values;
  readonly #agents = new Map<string, AgentFunction>();
  /** The functions `checkpoint` that are kept to one tenant. */
  readonly #checkpoints = new Map<string, LambdaFunction>();
  #claimsForOthers = false;

  constructor(scope: Construct, id: string, props: HoldpointProps = {}) {
    super(scope, id);
    checkProps(this, props);
    const domain = ownDomain(props);
    this.#props = props;
    this.table = props.table ?? newTable(this, props);
    this.bucket = props.bucket ?? newBucket(this, props);
    this.bus = props.bus ?? newBus(this);
    this.topic = props.topic ?? newTopic(this, props);
    this.deadLetters = newDeadLetters(this);
    this.metricsNamespace = `Holdpoint/${Names.uniqueResourceName(this, { maxLength: 100, separator: '-' })}`;
    this.#keeping = keepingOf(this.table, this.bucket, props);
    this.#callers = new Callers(props.iamCallers);

    const { retention, jwt, corsOrigins, runKey } = props;
    const values = {
      table: this.table.tableName,
      bucket: this.bucket.bucketName,
      key: runKey?.keyArn,
      retentionSeconds: retention?.toSeconds().toString(),
      // One that is brought may be of another account.
      bus: props.bus?.eventBusArn ?? this.bus.eventBusName,
      topic: this.topic.topicArn,
      // Agents and callers come after the functions that read of them.
      agents: Lazy.string({ produce: () => this.#agentsJson() }),
      iamCallers: Lazy.string({ produce: () => this.#callers.json() }),
      jwtCallers: jwt && callersJson(jwt),
      corsOrigins: corsOrigins?.length ? corsOrigins.join(',') : undefined,
      tenants: JSON.stringify(this.#counted),
      metricsNamespace: this.metricsNamespace,
    };
    const api = this.#handler('api', values);
    this.#entrance = new HttpEntrance(this, 'HttpApi', {
      ...{ function: api, props, authorizer: new HttpIamAuthorizer() },
      description: 'Holdpoint, for callers by IAM',
      domain: jwt ? undefined : domain,
    });
    const people =
      jwt &&
      new HttpEntrance(this, 'JwtHttpApi', {
        ...{ function: api, props, domain, description: 'Holdpoint, for callers by JWT' },
        authorizer: new HttpJwtAuthorizer('Jwt', jwt.issuer, { jwtAudience: [...jwt.audience] }),
      });
    this.apiUrl = this.#entrance.url;
    this.jwtApiUrl = people?.url;
    this.#values = { ...values, approvalUrl: `${(people ?? this.#entrance).url}/approvals` };
    const rest = HANDLERS.filter((name) => name !== 'api').map((name) => [name, this.#handler(name, this.#values)]);
    this.handlers = { api, ...Object.fromEntries(rest) };
    this.#wake();

    const measured: Measured = {
      namespace: this.metricsNamespace,
      apis: [this.#entrance, ...(people ? [people] : [])].map((entrance) => entrance.api),
      ...{ handlers: this.handlers, table: this.table, bucket: this.bucket, deadLetters: this.deadLetters },
      sweepMinutes: this.#sweepEvery.toMinutes(),
    };
    if (props.alarms ?? true) {
      this.alarmTopic = props.alarmTopic ?? newAlarmTopic(this, props);
      this.alarms = new Alarms(this, 'Alarms', { topic: this.alarmTopic, measured });
    }
    if (props.dashboard ?? true)
      this.dashboard = new Dashboard(this, 'Dashboard', { measured, alarms: this.alarms?.all ?? [] });
    const { table, bucket, key } = values;
    addOutputs(this, present({ table, bucket, key, apiUrl: this.apiUrl, jwtApiUrl: this.jwtApiUrl }));
  }

  /** Adds an agent under the name that its code has: its function gets its environment and permissions, and its runs. */
  addAgent(name: string, agent: AgentProps): IFunction {
    const id = `Agent-${escapeId('agent', name)}`;
    if (this.#agents.has(name))
      throw new Error(`${this.node.path}: there is an agent "${name}" already. Each has a name of its own.`);
    const deadLetters = this.deadLetters;
    const behind =
      'entry' in agent ? entryFunction(this, id, agent, { props: this.#props, deadLetters }) : agent.function;
    const known = functionKnownTo(this, id, behind);
    const hydrate = 'function' in agent && (agent.hydrate ?? false);
    if (hydrate) this.#hydrate(behind, agent.tenant);
    else this.connect(behind, agent);
    this.#agents.set(name, { function: nameOf(known), hydrate });
    for (const handler of ['resume', 'notify', 'sweep'] as const) grantInvoke(this.handlers[handler], known);
    this.dashboard?.addAgent(name, known);
    return behind;
  }

  /**
   * Lets a function use the library on the runs themselves, as agents do: it gets the environment and permissions for that.
   * Who only starts, answers or looks is better granted that.
   */
  connect(behind: IFunction, options: TenantOptions = {}): Grant {
    setEnvironment(this, behind, this.#environment('agent', this.#values));
    return this.grantStore(behind, options);
  }

  /** Lets somebody save, load and change runs in table and bucket, by the library. */
  grantStore(grantee: IGrantable, { tenant }: TenantOptions = {}): Grant {
    return grantAccess(grantee, this.#keeping, RUN, this.#tenants(tenant));
  }

  /** Lets somebody do all that the command does with this stack: also list, prune and delete runs. */
  grantAdminister(grantee: IGrantable, { tenant }: TenantOptions = {}): Grant {
    const { stackId } = Stack.of(this);
    const find = Grant.addToPrincipal({
      grantee,
      actions: ['cloudformation:DescribeStacks'],
      resourceArns: [stackId],
    });
    // The list of what is due is that of all tenants.
    const access = tenant === undefined ? ADMINISTER : { ...ADMINISTER, lists: ['status', 'owner'] as const };
    return grantAccess(grantee, this.#keeping, access, this.#tenants(tenant)).combine(find);
  }

  /** Lets somebody start runs by `POST /api/runs`. */
  grantStart(grantee: IGrantable, options: TenantOptions = {}): Grant {
    return this.#permit(grantee, START, options);
  }

  /** Lets somebody show people what they are asked, and answer in their names: a portal with a login of its own. */
  grantApprove(grantee: IGrantable, options: TenantOptions = {}): Grant {
    return this.#permit(grantee, APPROVE, options);
  }

  /** Lets somebody look at runs, in the API and the console. */
  grantRead(grantee: IGrantable, options: TenantOptions = {}): Grant {
    return this.#permit(grantee, READ, options);
  }

  /** Lets somebody do all that operators do, in the API and the console. */
  grantOperate(grantee: IGrantable, options: TenantOptions = {}): Grant {
    return this.#permit(grantee, OPERATE, options);
  }

  #permit(grantee: IGrantable, permit: Permit, { tenant }: TenantOptions): Grant {
    const [only = 'default'] = this.#tenants(tenant) ?? [];
    return this.#callers.permit(this.#entrance, grantee, permit, only);
  }

  /** The tenants that a role is kept to; undefined for any. */
  #tenants(tenant: string | undefined): readonly string[] | undefined {
    const { tenants } = this.#props;
    if (tenant === undefined) return tenants;
    escapeId('tenant', tenant);
    if (tenants && !tenants.includes(tenant))
      throw new Error(
        `${this.node.path}: a tenant must be one of ${tenants.join(', ')}; found "${tenant}". Add it to \`tenants\`.`,
      );
    return [tenant];
  }

  #handler(
    name: HandlerName,
    values: Values,
    { id = DEPLOYED[name].id, tenant }: { id?: string; tenant?: string } = {},
  ): LambdaFunction {
    const made = handlerFunction(this, name, this.#props, this.#environment(name, values), id);
    const tenants = name === 'gauge' ? this.#counted : this.#tenants(tenant);
    // `resume` needs nothing of the runs, until it claims them for agents that cannot do it themselves.
    if (name !== 'resume') grantAccess(made, this.#keeping, DEPLOYED[name].access, tenants);
    return made;
  }

  /** What the shared list says that one reads, where it has a value. */
  #environment(name: HandlerName | 'agent', values: Values): Record<string, string> {
    return Object.fromEntries(
      READ_BY[name].flatMap((key) => (values[key] === undefined ? [] : [[ENVIRONMENT[key], values[key]]])),
    );
  }

  /** The tenants whose runs are counted. */
  get #counted(): readonly string[] {
    return this.#props.tenants ?? ['default'];
  }

  get #sweepEvery(): Duration {
    return this.#props.sweepEvery ?? Duration.minutes(1);
  }

  #wake(): void {
    const { resume, notify, sweep, gauge } = this.handlers;
    onStream(resume, 'resume', this);
    onStream(notify, 'notify', this);
    onSchedule(sweep, this.#sweepEvery, this.deadLetters, sweepEvents(this.#props.sweepers ?? 1));
    onSchedule(gauge, Duration.minutes(5), this.deadLetters);
    for (const handler of [notify, sweep]) {
      this.bus.grantPutEventsTo(handler);
      grantPublish(this.topic, handler);
    }
  }

  /** Has runs claimed and loaded for a function, and lets it speak to `checkpoint`: that of its tenant, where it has one. */
  #hydrate(behind: IFunction, tenant: string | undefined): void {
    if (!this.#claimsForOthers)
      grantAccess(this.handlers.resume, this.#keeping, DEPLOYED.resume.access, this.#props.tenants);
    this.#claimsForOthers = true;
    const checkpoint = tenant === undefined ? this.handlers.checkpoint : this.#checkpointOf(tenant);
    grantInvoke(behind, checkpoint);
    setEnvironment(this, behind, { [CHECKPOINT_FUNCTION_VARIABLE]: checkpoint.functionName });
  }

  #checkpointOf(tenant: string): LambdaFunction {
    const id = `${DEPLOYED.checkpoint.id}-${escapeId('tenant', tenant)}`;
    const made = this.#checkpoints.get(tenant) ?? this.#handler('checkpoint', this.#values, { id, tenant });
    this.#checkpoints.set(tenant, made);
    return made;
  }

  #agentsJson(): string {
    return JSON.stringify(
      Object.fromEntries([...this.#agents].map(([name, agent]) => [name, agent.hydrate ? agent : agent.function])),
    );
  }
}

type Values = Readonly<Partial<Record<EnvironmentName, string | undefined>>>;

function ownDomain({ domainName, certificate, hostedZone }: HoldpointProps): OwnDomain | undefined {
  return domainName !== undefined && certificate ? { domainName, certificate, hostedZone } : undefined;
}

function keepingOf(
  table: ITable,
  bucket: IBucket,
  { encryptionKey, runKey, retiredRunKeys = [] }: HoldpointProps,
): Keeping {
  const keys = [encryptionKey, table.encryptionKey, bucket.encryptionKey].filter(
    (key): key is IKey => key !== undefined,
  );
  return { table, bucket, runKey, retiredRunKeys, atRest: [...new Set(keys)] };
}

function callersJson({ issuer: _, audience: __, ...callers }: JwtProps): string {
  return JSON.stringify(callers);
}

/** What is deployed elsewhere may be of another account or region. */
const nameOf = (behind: IFunction): string =>
  behind instanceof LambdaFunction ? behind.functionName : behind.functionArn;

/** Only the function itself, and none of its versions. */
function grantInvoke(grantee: IGrantable, behind: IFunction): void {
  Grant.addToPrincipal({ grantee, actions: ['lambda:InvokeFunction'], resourceArns: [behind.functionArn] });
}

/** What was deployed elsewhere has its environment elsewhere, too; that of an alias or a version is its function's. */
function setEnvironment(scope: Construct, behind: IFunction, environment: Readonly<Record<string, string>>): void {
  const made = behind instanceof QualifiedFunctionBase ? behind.lambda : behind;
  if (made instanceof LambdaFunction)
    for (const [name, value] of Object.entries(environment)) made.addEnvironment(name, value);
  else
    Annotations.of(scope).addInfo(
      `${behind.node.path} is deployed elsewhere: set ${Object.keys(environment).join(', ')} there.`,
    );
}
