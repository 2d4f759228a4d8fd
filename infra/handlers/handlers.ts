import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { escapeId } from '../../lambda/core/ids.ts';
import { CHECKPOINT_FUNCTION_VARIABLE, HANDLERS, type HandlerName } from '../../lambda/environment/names.ts';
import { grantAccess, type StorageResources } from '../access.ts';
import { grantInvoke } from '../agents.ts';
import { type EnvironmentValues, environmentFor, setEnvironment } from '../environment.ts';
import { grantPublish } from '../messages.ts';
import { PERIOD } from '../operating/metrics.ts';
import type { ResolvedProps } from '../resolved-props.ts';
import type { Tenants } from '../tenants.ts';
import { addScheduleTriggers, addStreamTrigger, sweepSchedules } from '../triggers.ts';
import { createHandlerFunction, HANDLER_SETTINGS } from './handler-functions.ts';

interface HandlersOptions {
  readonly props: ResolvedProps;
  readonly storage: StorageResources;
  readonly tenants: Tenants;
  readonly environment: EnvironmentValues;
}

/** The functions of the handlers, each with the access that it needs. */
export class Handlers {
  readonly byName: Readonly<Record<HandlerName, LambdaFunction>>;
  readonly #scope: Construct;
  readonly #options: HandlersOptions;
  /** The `checkpoint` functions that are restricted to one tenant. */
  readonly #checkpointByTenant = new Map<string, LambdaFunction>();
  #canResumeClaim = false;

  constructor(scope: Construct, options: HandlersOptions) {
    this.#scope = scope;
    this.#options = options;
    const { tenants } = options;
    const tenantsFor = (name: HandlerName) => (name === 'gauge' ? tenants.measured : tenants.restrictedTo(undefined));
    const entries = HANDLERS.map((name) => [name, this.#create(name, HANDLER_SETTINGS[name].id, tenantsFor(name))]);
    this.byName = Object.fromEntries(entries) as Readonly<Record<HandlerName, LambdaFunction>>;
  }

  /** Connects the handlers to the stream and the schedules, and lets them publish to bus and topic. */
  addTriggers({
    bus,
    topic,
    deadLetterQueue,
  }: {
    readonly bus: IEventBus;
    readonly topic: ITopic;
    readonly deadLetterQueue: IQueue;
  }): void {
    const { resume, notify, sweep, gauge } = this.byName;
    const { storage, props } = this.#options;
    const { sweepEvery, sweepers } = props;
    const stream = { storage, deadLetterQueue, isExistingTable: props.table !== undefined };
    addStreamTrigger(resume, 'resume', stream);
    addStreamTrigger(notify, 'notify', stream);
    addScheduleTriggers(sweep, deadLetterQueue, sweepSchedules(sweepEvery, sweepers));
    addScheduleTriggers(gauge, deadLetterQueue, [{ id: 'Schedule', every: PERIOD }]);
    for (const handler of [notify, sweep]) {
      bus.grantPutEventsTo(handler);
      grantPublish(topic, handler);
    }
  }

  /**
   * Lets `resume` claim and hydrate runs for a function, and the function invoke `checkpoint`, restricted to its
   * tenant.
   */
  enableHydration(fn: IFunction, tenant: string | undefined): void {
    const { storage, tenants } = this.#options;
    if (!this.#canResumeClaim)
      grantAccess(this.byName.resume, storage, HANDLER_SETTINGS.resume.access, tenants.restrictedTo(undefined));
    this.#canResumeClaim = true;
    const checkpoint = tenant === undefined ? this.byName.checkpoint : this.#checkpointFor(tenant);
    grantInvoke(fn, checkpoint);
    setEnvironment(this.#scope, fn, { [CHECKPOINT_FUNCTION_VARIABLE]: checkpoint.functionName });
  }

  #checkpointFor(tenant: string): LambdaFunction {
    const id = `${HANDLER_SETTINGS.checkpoint.id}-${escapeId('tenant', tenant)}`;
    const fn =
      this.#checkpointByTenant.get(tenant) ??
      this.#create('checkpoint', id, this.#options.tenants.restrictedTo(tenant));
    this.#checkpointByTenant.set(tenant, fn);
    return fn;
  }

  #create(name: HandlerName, id: string, tenants: readonly string[] | undefined): LambdaFunction {
    const { props, storage, environment } = this.#options;
    const fn = createHandlerFunction(this.#scope, id, name, props, environmentFor(name, environment));
    // `resume` reads and writes runs only if it claims them for agents; see `enableHydration`.
    if (name !== 'resume') grantAccess(fn, storage, HANDLER_SETTINGS[name].access, tenants);
    return fn;
  }
}
