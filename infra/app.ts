// The app that `npx cdk deploy` deploys. docs/guides/deploying.md describes its context values.
import { App } from 'aws-cdk-lib';
import { omitUndefined } from '../lambda/core/omit-undefined.ts';
import { ExampleStack } from './example-stack.ts';

const app = new App();

const contextValue = (name: string): string | undefined => {
  const value: unknown = app.node.tryGetContext(name);
  return value === undefined || value === '' ? undefined : String(value);
};

const contextFlag = (name: string): boolean => {
  const value = contextValue(name) ?? 'false';
  if (value !== 'true' && value !== 'false') throw new Error(`-c ${name} must be true or false; found ${value}.`);
  return value === 'true';
};

new ExampleStack(app, contextValue('stack') ?? 'Waitstate', {
  ...omitUndefined({
    email: contextValue('email'),
    operators: contextValue('operators'),
    model: contextValue('model'),
  }),
  disposable: contextFlag('disposable'),
});
