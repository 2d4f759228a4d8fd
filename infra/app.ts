// The app that `npx cdk deploy` deploys. What it may be told: docs/guides/deploying.md.
import { App } from 'aws-cdk-lib';
import { omitUndefined } from '../lambda/core/omit-undefined.ts';
import { ExampleStack } from './example-stack.ts';

const app = new App();

const told = (name: string): string | undefined => {
  const value: unknown = app.node.tryGetContext(name);
  return value === undefined || value === '' ? undefined : String(value);
};

const toldYes = (name: string): boolean => {
  const value = told(name) ?? 'false';
  if (value !== 'true' && value !== 'false') throw new Error(`-c ${name} must be true or false; found ${value}.`);
  return value === 'true';
};

new ExampleStack(app, told('stack') ?? 'Waitstate', {
  ...omitUndefined({ email: told('email'), operators: told('operators'), model: told('model') }),
  disposable: toldYes('disposable'),
});
