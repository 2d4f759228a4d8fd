import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { escapeId } from '../../lambda/core/ids.ts';
import { CHECKPOINT_FUNCTION_VARIABLE, HANDLERS, type HandlerName } from '../../lambda/environment/names.ts';
import { grantAccess, type Keeping } from '../access.ts';
import { grantInvoke } from '../agents.ts';
import { grantPublish } from '../messages.ts';
import { PERIOD } from '../operating/measures.ts';
import type { SettledProps } from '../resolved-props.ts';
import type { Tenants } from '../tenants.ts';
import { onSchedule, onStream, sweepEvents } from '../triggers.ts';
import { setVariables, type Values, variablesOf } from '../variables.ts';
import { DEPLOYED, handlerFunction } from './handler-functions.ts';

/** What the handlers stand on. */
interface Ground {
  readonly props: SettledProps;
  readonly keeping: Keeping;
  readonly tenants: Tenants;
  readonly values: Values;
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
    const of = (name: HandlerName) => (name === 'gauge' ? tenants.counted : tenants.keptTo(undefined));
    const made = HANDLERS.map((name) => [name, this.#make(name, DEPLOYED[name].id, of(name))]);
    this.byName = Object.fromEntries(made) as Readonly<Record<HandlerName, LambdaFunction>>;
  }

  /** Has them invoked by the stream and by time, and lets them say what happened. */
  wake({
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
    onStream(resume, 'resume', keeping, deadLetterQueue);
    onStream(notify, 'notify', keeping, deadLetterQueue);
    onSchedule(sweep, sweepEvery, deadLetterQueue, sweepEvents(sweepers));
    onSchedule(gauge, PERIOD, deadLetterQueue);
    for (const handler of [notify, sweep]) {
      bus.grantPutEventsTo(handler);
      grantPublish(topic, handler);
    }
  }

  /** Has runs claimed and loaded for a function, and lets it speak to `checkpoint`: that of its tenant, where it has one. */
  hydrate(fn: IFunction, tenant: string | undefined): void {
    const { keeping, tenants } = this.#ground;
    if (!this.#claimsForOthers)
      grantAccess(this.byName.resume, keeping, DEPLOYED.resume.access, tenants.keptTo(undefined));
    this.#claimsForOthers = true;
    const checkpoint = tenant === undefined ? this.byName.checkpoint : this.#checkpointOf(tenant);
    grantInvoke(fn, checkpoint);
    setVariables(this.#scope, fn, { [CHECKPOINT_FUNCTION_VARIABLE]: checkpoint.functionName });
  }

  #checkpointOf(tenant: string): LambdaFunction {
    const id = `${DEPLOYED.checkpoint.id}-${escapeId('tenant', tenant)}`;
    const made = this.#checkpoints.get(tenant) ?? this.#make('checkpoint', id, this.#ground.tenants.keptTo(tenant));
    this.#checkpoints.set(tenant, made);
    return made;
  }

  #make(name: HandlerName, id: string, tenants: readonly string[] | undefined): LambdaFunction {
    const { props, keeping, values } = this.#ground;
    const made = handlerFunction(this.#scope, id, name, props, variablesOf(name, values));
    // `resume` needs nothing of the runs, until it claims them for agents that cannot do it themselves.
    if (name !== 'resume') grantAccess(made, keeping, DEPLOYED[name].access, tenants);
    return made;
  }
}
