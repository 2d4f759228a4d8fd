import { Annotations } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import {
  ENVIRONMENT,
  type EnvironmentName,
  type HandlerName,
  VARIABLES_BY_HANDLER,
} from '../lambda/environment/names.ts';

/** The values of what handlers and agents read; what has none is not set. */
export type EnvironmentValues = Readonly<Partial<Record<EnvironmentName, string | undefined>>>;

/** What the shared list says that one reads, where it has a value. */
export const environmentFor = (name: HandlerName | 'agent', values: EnvironmentValues): Record<string, string> =>
  Object.fromEntries(
    VARIABLES_BY_HANDLER[name].flatMap((key) => (values[key] === undefined ? [] : [[ENVIRONMENT[key], values[key]]])),
  );

/** What can have variables set, whichever copy of CDK it was made with. */
interface Settable {
  addEnvironment(name: string, value: string): unknown;
}

const isSettable = (fn: object): fn is Settable => 'addEnvironment' in fn && typeof fn.addEnvironment === 'function';

/** Sets variables of a function; those of an alias or a version are its function's, and what is deployed elsewhere has its own. */
export function setEnvironment(scope: Construct, fn: IFunction, variables: Readonly<Record<string, string>>): void {
  const made = 'lambda' in fn ? (fn.lambda as IFunction) : fn;
  if (isSettable(made)) for (const [name, value] of Object.entries(variables)) made.addEnvironment(name, value);
  else
    Annotations.of(scope).addWarningV2(
      'waitstate:variables',
      `${fn.node.path} is deployed elsewhere: set ${Object.keys(variables).join(', ')} there.`,
    );
}
