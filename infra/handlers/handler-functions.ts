import { Duration } from 'aws-cdk-lib';
import { Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import type { HandlerName } from '../../lambda/environment/names.ts';
import { type Access, CLAIM, COUNT, NOTIFY, SAVE, SERVE, SWEEP } from '../access.ts';
import { enableTracing, functionOptions, SOURCE_MAP_ENVIRONMENT } from '../functions.ts';
import type { ResolvedProps } from '../resolved-props.ts';
import { handlerCode } from './code.ts';
import { validateEnvironmentSize } from './environment-size.ts';

/** How a handler is deployed. */
interface Deployed {
  readonly id: string;
  readonly description: string;
  readonly memoryMB: number;
  readonly timeoutSeconds: number;
  /** What its role may do with runs; that of `resume` only where it claims runs for others. */
  readonly access: Access;
}

/** All handlers. Memory and time are from measurements: docs/guides/operating.md has them. */
export const HANDLER_SETTINGS: Readonly<Record<HandlerName, Deployed>> = {
  api: {
    ...{ id: 'Api', description: 'Waitstate: links, API and console' },
    ...{ memoryMB: 1024, timeoutSeconds: 29, access: SERVE },
  },
  checkpoint: {
    ...{ id: 'Checkpoint', description: 'Waitstate: saves, asks and waits for agents in other languages' },
    ...{ memoryMB: 512, timeoutSeconds: 60, access: SAVE },
  },
  gauge: {
    ...{ id: 'Gauge', description: 'Waitstate: counts runs and measures how long they wait' },
    ...{ memoryMB: 256, timeoutSeconds: 60, access: COUNT },
  },
  notify: {
    ...{ id: 'Notify', description: 'Waitstate: tells people of approvals, and everybody of ends' },
    ...{ memoryMB: 512, timeoutSeconds: 120, access: NOTIFY },
  },
  resume: {
    ...{ id: 'Resume', description: 'Waitstate: invokes the agents of runs that are ready' },
    ...{ memoryMB: 512, timeoutSeconds: 60, access: CLAIM },
  },
  sweep: {
    ...{ id: 'Sweep', description: 'Waitstate: looks after everything that is due' },
    ...{ memoryMB: 1769, timeoutSeconds: 300, access: SWEEP },
  },
};

/** The function of a handler, which may do nothing yet but log and trace. */
export function createHandlerFunction(
  scope: Construct,
  id: string,
  name: HandlerName,
  props: ResolvedProps,
  environment: Readonly<Record<string, string>>,
): LambdaFunction {
  const { description, memoryMB, timeoutSeconds } = HANDLER_SETTINGS[name];
  const made = new LambdaFunction(scope, id, {
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
  enableTracing(made);
  validateEnvironmentSize(made);
  return made;
}
