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
import { addScheduleTrigger, addStreamTrigger, sweepEvents } from '../triggers.ts';
import { createHandlerFunction, HANDLER_SETTINGS } from './handler-functions.ts';

/** What the handlers stand on. */
interface Ground {
  readonly props: ResolvedProps;
  readonly keeping: StorageResources;
  readonly tenants: Tenants;
  readonly values: EnvironmentValues;
}

/** The functions of the handlers, each with the access that it needs. */
export class Handlers {
  readonly byName: Readonly<Record<HandlerName, LambdaFunction>>;
  readonly #scope: Construct;
  readonly #ground: Ground;
  /** The functions `checkpoint` that are kept to one tenant. */
  readonly #checkpoints = new Map<string, LambdaFunction>();
  #claimsForOthers = false;

  constructor(scope: Construct, ground: Ground) {
    this.#scope = scope;
    this.#ground = ground;
    const { tenants } = ground;
    const of = (name: HandlerName) => (name === 'gauge' ? tenants.measured : tenants.restrictedTo(undefined));
    const made = HANDLERS.map((name) => [name, this.#make(name, HANDLER_SETTINGS[name].id, of(name))]);
    this.byName = Object.fromEntries(made) as Readonly<Record<HandlerName, LambdaFunction>>;
  }

  /** Has them invoked by the stream and by time, and lets them say what happened. */
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
    const { keeping, props } = this.#ground;
    const { sweepEvery, sweepers } = props;
    addStreamTrigger(resume, 'resume', keeping, deadLetterQueue);
    addStreamTrigger(notify, 'notify', keeping, deadLetterQueue);
    addScheduleTrigger(sweep, sweepEvery, deadLetterQueue, sweepEvents(sweepers));
    addScheduleTrigger(gauge, PERIOD, deadLetterQueue);
    for (const handler of [notify, sweep]) {
      bus.grantPutEventsTo(handler);
      grantPublish(topic, handler);
    }
  }

  /** Has runs claimed and loaded for a function, and lets it speak to `checkpoint`: that of its tenant, where it has one. */
  enableHydration(fn: IFunction, tenant: string | undefined): void {
    const { keeping, tenants } = this.#ground;
    if (!this.#claimsForOthers)
      grantAccess(this.byName.resume, keeping, HANDLER_SETTINGS.resume.access, tenants.restrictedTo(undefined));
    this.#claimsForOthers = true;
    const checkpoint = tenant === undefined ? this.byName.checkpoint : this.#checkpointOf(tenant);
    grantInvoke(fn, checkpoint);
    setEnvironment(this.#scope, fn, { [CHECKPOINT_FUNCTION_VARIABLE]: checkpoint.functionName });
  }

  #checkpointOf(tenant: string): LambdaFunction {
    const id = `${HANDLER_SETTINGS.checkpoint.id}-${escapeId('tenant', tenant)}`;
    const made =
      this.#checkpoints.get(tenant) ?? this.#make('checkpoint', id, this.#ground.tenants.restrictedTo(tenant));
    this.#checkpoints.set(tenant, made);
    return made;
  }

  #make(name: HandlerName, id: string, tenants: readonly string[] | undefined): LambdaFunction {
    const { props, keeping, values } = this.#ground;
    const made = createHandlerFunction(this.#scope, id, name, props, environmentFor(name, values));
    // `resume` needs nothing of the runs, until it claims them for agents that cannot do it themselves.
    if (name !== 'resume') grantAccess(made, keeping, HANDLER_SETTINGS[name].access, tenants);
    return made;
  }
}
