import { createRequire } from 'node:module';
import type { Stack } from 'aws-cdk-lib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ExampleStack } from '../../infra/example-stack.ts';
import { allOptions, existingResources, grantAll, stackOf, withAgents } from './stacks.ts';
import { StackTemplate, testApp } from './template.ts';

interface Finding {
  readonly severity: 'INFO' | 'WARN' | 'ERROR' | 'FATAL';
  readonly message: string;
  readonly entity?: { readonly logicalId: string };
  readonly propertyPath?: string;
}

/** The part of AWS's validator that checks resources against the schemas of CloudFormation's registry. */
interface Validator {
  readonly SchemaValidator: new () => {
    validate(template: object, region: string): readonly Finding[];
    free(): void;
  };
  readonly TemplateContent: new (content: string, name: string) => object;
}

// aws-cdk-lib contains the validator with the schemas of all resource types, so nothing else needs to be installed.
const requireFromCdk = createRequire(createRequire(import.meta.url).resolve('aws-cdk-lib/package.json'));
const { SchemaValidator, TemplateContent } = requireFromCdk('@aws/cloudformation-validate') as Validator;

let validator: InstanceType<Validator['SchemaValidator']>;
beforeAll(() => {
  validator = new SchemaValidator();
});
afterAll(() => validator.free());

/** All findings except hints, such as which properties cannot be changed later. */
const findingsIn = (template: object): readonly string[] =>
  validator
    .validate(new TemplateContent(JSON.stringify(template), 'template.json'), 'eu-central-1')
    .filter(({ severity }) => severity !== 'INFO')
    .map(({ entity, propertyPath, message }) => `${entity?.logicalId} ${propertyPath}: ${message}`);

const templateWith = (define: (stack: Stack) => void): StackTemplate['template'] => {
  const stack = stackOf();
  define(stack);
  return new StackTemplate(stack).template;
};

const DEFAULT = templateWith((stack) => grantAll(withAgents(stack), stack));

describe('the schemas of CloudFormation', () => {
  it('accept every resource of a Waitstate and its grantees', () => {
    expect(findingsIn(DEFAULT)).toEqual([]);
  });

  it.each([
    ['with all options on', (stack: Stack) => withAgents(stack, allOptions(stack))],
    ['on existing resources', (stack: Stack) => withAgents(stack, existingResources(stack))],
  ])('accept every resource of a Waitstate %s', (_, define) => {
    expect(findingsIn(templateWith(define))).toEqual([]);
  });

  it('accept every resource of the example app', () => {
    const options = { email: 'ops@example.com', operators: 'Admin', model: 'eu.example.model', disposable: true };
    expect(findingsIn(new StackTemplate(new ExampleStack(testApp(), 'Waitstate', options)).template)).toEqual([]);
  });

  it('reject names, types, choices, limits and formats that are wrong, and properties that are missing', () => {
    const changes = {
      'AWS::Lambda::Function': { MemorySizeMB: 512, MemorySize: 64, Architectures: ['z80'], Role: undefined },
      'AWS::SQS::Queue': { MessageRetentionPeriod: 'long' },
      'AWS::Lambda::EventSourceMapping': { EventSourceArn: 'arn of a table' },
    };
    const Resources = { ...DEFAULT.Resources };
    for (const [type, change] of Object.entries(changes)) {
      const [id = '', resource] = Object.entries(Resources).find(([, { Type }]) => Type === type) ?? [];
      if (resource) Resources[id] = { ...resource, Properties: { ...resource.Properties, ...change } };
    }
    expect(findingsIn({ ...DEFAULT, Resources }).toSorted()).toEqual([
      expect.stringMatching(/^WaitstateApi\w+ Properties.Architectures.0: 'z80' is not one of/),
      expect.stringMatching(/^WaitstateApi\w+ Properties.MemorySize: 64 is less than the minimum of 128/),
      expect.stringMatching(/^WaitstateApi\w+ Properties.MemorySizeMB: Additional properties are not allowed/),
      expect.stringMatching(/^WaitstateApi\w+ Properties: 'Role' is a required property/),
      expect.stringMatching(/^WaitstateDeadLetters\w+ Properties.MessageRetentionPeriod: 'long' is not of type/),
      expect.stringMatching(/^WaitstateNotifyStream\w+ Properties.EventSourceArn: 'arn of a table' does not match/),
    ]);
  });
});
