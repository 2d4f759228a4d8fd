import { Duration } from 'aws-cdk-lib';
import { Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import type { HandlerName } from '../../lambda/environment/names.ts';
import { type Access, CLAIM, COUNT, NOTIFY, SAVE, SERVE, SWEEP } from '../access.ts';
import { functionOptions, SOURCE_MAP_ENVIRONMENT } from '../functions.ts';
import type { ResolvedProps } from '../resolved-props.ts';
import { handlerCode } from './code.ts';
import { validateEnvironmentSize } from './environment-size.ts';

/** The deployment settings of a handler. */
interface HandlerSettings {
  readonly id: string;
  readonly description: string;
  readonly memoryMB: number;
  readonly timeoutSeconds: number;
  /** The access of its role to runs. `resume` gets it only if some agent needs its runs claimed and hydrated. */
  readonly access: Access;
}

/** The settings of all handlers. Memory and timeouts come from the measurements in docs/guides/operating.md. */
export const HANDLER_SETTINGS: Readonly<Record<HandlerName, HandlerSettings>> = {
  api: {
    id: 'Api',
    description: 'Waitstate: serves approval links, API and console',
    memoryMB: 1024,
    timeoutSeconds: 29,
    access: SERVE,
  },
  checkpoint: {
    id: 'Checkpoint',
    description: 'Waitstate: saves checkpoints, approvals and waits of agents in other languages',
    memoryMB: 512,
    timeoutSeconds: 60,
    access: SAVE,
  },
  gauge: {
    id: 'Gauge',
    description: 'Waitstate: counts runs and measures how long they wait',
    memoryMB: 256,
    timeoutSeconds: 60,
    access: COUNT,
  },
  notify: {
    id: 'Notify',
    description: 'Waitstate: sends notifications about approvals and publishes the ends of runs',
    memoryMB: 512,
    timeoutSeconds: 120,
    access: NOTIFY,
  },
  resume: {
    id: 'Resume',
    description: 'Waitstate: invokes the agents of runs that are ready',
    memoryMB: 512,
    timeoutSeconds: 60,
    access: CLAIM,
  },
  sweep: {
    id: 'Sweep',
    description: 'Waitstate: processes timers, timeouts, retries and retention that are due',
    memoryMB: 1769,
    timeoutSeconds: 300,
    access: SWEEP,
  },
};

/** Creates the function of a handler. Its role may only write logs. */
export function createHandlerFunction(
  scope: Construct,
  id: string,
  name: HandlerName,
  props: ResolvedProps,
  environment: Readonly<Record<string, string>>,
): LambdaFunction {
  const { description, memoryMB, timeoutSeconds } = HANDLER_SETTINGS[name];
  const fn = new LambdaFunction(scope, id, {
    ...functionOptions(scope, id, props),
    description,
    runtime: Runtime.NODEJS_24_X,
    code: handlerCode(),
    handler: `${name}.handler`,
    memorySize: memoryMB,
    timeout: Duration.seconds(timeoutSeconds),
    environment: { ...environment, ...SOURCE_MAP_ENVIRONMENT },
    ...omitUndefined({ reservedConcurrentExecutions: props.reservedConcurrency[name] }),
  });
  validateEnvironmentSize(fn);
  return fn;
}
