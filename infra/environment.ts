import { Annotations } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import {
  ENVIRONMENT,
  type EnvironmentName,
  type HandlerName,
  VARIABLES_BY_HANDLER,
} from '../lambda/environment/names.ts';

/** The values of the variables of handlers and agents; an undefined one is not set. */
export type EnvironmentValues = Readonly<Partial<Record<EnvironmentName, string | undefined>>>;

/** The variables that a handler or an agent reads, as far as they have a value. */
export const environmentFor = (name: HandlerName | 'agent', values: EnvironmentValues): Record<string, string> =>
  Object.fromEntries(
    VARIABLES_BY_HANDLER[name].flatMap((key) => (values[key] === undefined ? [] : [[ENVIRONMENT[key], values[key]]])),
  );

/** A function with an environment, whichever copy of CDK created it. */
interface HasEnvironment {
  addEnvironment(name: string, value: string): unknown;
}

const hasEnvironment = (fn: object): fn is HasEnvironment =>
  'addEnvironment' in fn && typeof fn.addEnvironment === 'function';

/**
 * Sets variables of a function. For an alias or a version, it sets those of the function behind it; for an imported
 * function, it adds a warning.
 */
export function setEnvironment(scope: Construct, fn: IFunction, variables: Readonly<Record<string, string>>): void {
  const target = 'lambda' in fn ? (fn.lambda as IFunction) : fn;
  if (hasEnvironment(target)) for (const [name, value] of Object.entries(variables)) target.addEnvironment(name, value);
  else
    Annotations.of(scope).addWarningV2(
      'waitstate:variables',
      `${fn.node.path} is imported, so its environment cannot be set here. Set ${Object.keys(variables).join(', ')} where it is deployed.`,
    );
}
