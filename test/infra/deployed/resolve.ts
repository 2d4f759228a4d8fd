import { createHash } from 'node:crypto';

/** A resource of a template. */
export interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
  readonly Metadata?: Readonly<Record<string, unknown>>;
}

export interface Template {
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs?: Readonly<Record<string, { readonly Value: unknown }>>;
}

/** Where a template is deployed. `name` is part of all generated names. */
export interface DeploymentTarget {
  readonly name: string;
  /** The name of the stack in the template. @default `name` */
  readonly stackName?: string;
  readonly region: string;
  readonly accountId: string;
}

/** The identity of a resource in CloudFormation: `Ref` and the attributes of `Fn::GetAtt`. */
interface Identity {
  readonly Ref: string;
  readonly [attribute: string]: string;
}

type Identify = (name: (longest: number) => string, target: DeploymentTarget) => Identity;

/** A name and the ARN that contains it. */
const withArn =
  (service: string, arnOf: (name: string) => string, longest = 64): Identify =>
  (name, target) => ({ Ref: name(longest), Arn: arnIn(target, service, arnOf(name(longest))) });

const onlyName: Identify = (name) => ({ Ref: name(64) });

/** https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-template-resource-type-ref.html */
const IDENTITIES: Readonly<Record<string, Identify>> = {
  'AWS::DynamoDB::Table': (name, target) => {
    const Arn = arnIn(target, 'dynamodb', `table/${name(255)}`);
    return { Ref: name(255), Arn, StreamArn: `${Arn}/stream/2026-01-01T00:00:00.000` };
  },
  'AWS::S3::Bucket': (name) => ({ Ref: name(63).toLowerCase(), Arn: `arn:aws:s3:::${name(63).toLowerCase()}` }),
  'AWS::Lambda::Function': withArn('lambda', (name) => `function:${name}`),
  'AWS::IAM::Role': (name, { accountId }) => ({ Ref: name(64), Arn: `arn:aws:iam::${accountId}:role/${name(64)}` }),
  'AWS::SQS::Queue': (name, target) => ({
    Ref: `https://sqs.${target.region}.amazonaws.com/${target.accountId}/${name(80)}`,
    Arn: arnIn(target, 'sqs', name(80)),
    QueueName: name(80),
  }),
  'AWS::SNS::Topic': (name, target) => ({ Ref: arnIn(target, 'sns', name(100)), TopicName: name(100) }),
  'AWS::Events::EventBus': withArn('events', (name) => `event-bus/${name}`),
  'AWS::Events::Rule': withArn('events', (name) => `rule/${name}`),
  'AWS::KMS::Key': withArn('kms', (name) => `key/${name}`),
  'AWS::Logs::LogGroup': withArn('logs', (name) => `log-group:${name}:*`, 255),
  'AWS::CloudWatch::Alarm': withArn('cloudwatch', (name) => `alarm:${name}`, 255),
  'AWS::CloudWatch::Dashboard': onlyName,
  'AWS::ApiGatewayV2::Api': (name, { region }) => {
    const id = hashOf(name(64)).slice(0, 10);
    return { Ref: id, ApiEndpoint: `https://${id}.execute-api.${region}.amazonaws.com` };
  },
  'AWS::ApiGatewayV2::Integration': onlyName,
  'AWS::ApiGatewayV2::Authorizer': onlyName,
};

const arnIn = ({ region, accountId }: DeploymentTarget, service: string, rest: string): string =>
  `arn:aws:${service}:${region}:${accountId}:${rest}`;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A template as CloudFormation deploys it, with names and without intrinsic functions. */
export function resolveTemplate({ Resources, Outputs = {} }: Template, target: DeploymentTarget) {
  const pseudo: Readonly<Record<string, string>> = {
    'AWS::Region': target.region,
    'AWS::AccountId': target.accountId,
    'AWS::Partition': 'aws',
    'AWS::URLSuffix': 'amazonaws.com',
    'AWS::StackName': target.stackName ?? target.name,
    'AWS::StackId': arnIn(
      target,
      'cloudformation',
      `stack/${target.stackName ?? target.name}/7c9b5f60-0000-4000-8000-000000000000`,
    ),
  };

  const identityOf = (id: string): Identity => {
    const { Type } = Resources[id] ?? {};
    const named = IDENTITIES[Type ?? ''];
    if (!named) throw new Error(`Resource "${id}" has the unknown type ${Type}. Add it to resolve.ts.`);
    return named((longest) => nameOf(target, id, longest), target);
  };

  const attributeOf = (id: string, attribute: string): string => {
    const value = identityOf(id)[attribute];
    if (value === undefined) throw new Error(`"${id}" (${Resources[id]?.Type}) has no ${attribute} in resolve.ts.`);
    return value;
  };

  const substituted = (text: string): string =>
    text.replaceAll(/\$\{([^!}][^}]*)\}/g, (_, name: string) => {
      const [id = '', attribute = 'Ref'] = name.includes('::') ? [name] : name.split('.');
      return pseudo[id] ?? attributeOf(id, attribute);
    });

  const intrinsics: Readonly<Record<string, (operand: never) => unknown>> = {
    Ref: (id: string) => pseudo[id] ?? attributeOf(id, 'Ref'),
    'Fn::GetAtt': ([id, attribute]: [string, string]) => attributeOf(id, attribute),
    'Fn::Join': ([between, parts]: [string, unknown[]]) => parts.map(resolve).join(between),
    'Fn::Split': ([between, text]: [string, unknown]) => String(resolve(text)).split(between),
    'Fn::Select': ([index, list]: [number | string, unknown]) => (resolve(list) as unknown[])[Number(index)],
    'Fn::Sub': (text: unknown) => {
      if (typeof text !== 'string') throw new Error('Fn::Sub with variables is not implemented in resolve.ts.');
      return substituted(text);
    },
  };

  function resolve(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    const [[name, operand] = ['', undefined], ...more] = Object.entries(value);
    if (more.length === 0 && (name === 'Ref' || name === 'Condition' || name.startsWith('Fn::'))) {
      const known = intrinsics[name];
      // `Condition` is also a part of a policy, where it is not text.
      if (known) return known(operand as never);
      if (name !== 'Condition' || typeof operand === 'string')
        throw new Error(`${name} is not implemented in resolve.ts.`);
    }
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolve(inner)]));
  }

  const resources = Object.entries(Resources).map(([id, { Type, Properties = {}, Metadata = {} }]) => ({
    id,
    type: Type,
    path: String(Metadata['aws:cdk:path'] ?? id).replace(/\/Resource$/, ''),
    properties: resolve(Properties) as Readonly<Record<string, unknown>>,
    identity: IDENTITIES[Type] ? identityOf(id) : undefined,
  }));
  const outputs = Object.fromEntries(
    Object.entries(Outputs).map(([name, { Value }]) => [name, String(resolve(Value))]),
  );
  return { target, resources, outputs };
}

/** A deployed template. */
export type Deployed = ReturnType<typeof resolveTemplate>;

/** All resources of a type, with typed properties. */
export const allOf = <Properties>(deployed: Deployed, type: string) =>
  deployed.resources
    .filter((each) => each.type === type)
    .map((each) => ({
      ...each,
      properties: each.properties as Properties,
      ref: each.identity?.Ref ?? '',
      arn: each.identity?.Arn ?? '',
    }));

/** A name as CloudFormation generates it: stack name, logical id and a unique suffix. */
function nameOf({ name }: DeploymentTarget, id: string, longest: number): string {
  const end = `-${hashOf(`${name} ${id}`).slice(0, 8)}`;
  return `${name}-${id}`.slice(0, longest - end.length) + end;
}
