import { fileURLToPath } from 'node:url';
import { Duration, RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { type Grant, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { Construct } from 'constructs';
import { acknowledgeWildcards } from './acknowledge.ts';
import { Waitstate } from './waitstate.ts';

/** The options of the example app. */
export interface ExampleStackProps extends StackProps {
  /** The address that receives notifications about approvals and alarms. @default none */
  readonly email?: string;
  /**
   * The operators of the console: the name of a role in this account, such as `Admin`, or a caller ARN of IAM; `*`
   * matches any text. @default nobody
   */
  readonly operators?: string;
  /** The Amazon Bedrock model that the example `model-loop` calls. @default its responses are scripted */
  readonly model?: string;
  /** Whether deleting the stack deletes the runs. @default false */
  readonly disposable?: boolean;
}

/** A stack with Waitstate and the agents of the examples. */
export class ExampleStack extends Stack {
  readonly waitstate: Waitstate;

  constructor(scope: Construct, id: string, props: ExampleStackProps = {}) {
    super(scope, id, { description: 'Waitstate with three example agents', ...props });
    const { email, operators, model, disposable = false } = props;
    const operator = operators?.startsWith('arn:')
      ? operators
      : `arn:${this.partition}:sts::${this.account}:assumed-role/${operators}/*`;
    this.waitstate = new Waitstate(this, 'Waitstate', {
      retention: Duration.days(90),
      ...(disposable && { removalPolicy: RemovalPolicy.DESTROY }),
      ...(operators && {
        iamCallers: { [operator]: { tenant: 'default', roles: ['operator', 'approver'], decidesForOthers: true } },
      }),
    });
    const addExample = (name: string, environment: Readonly<Record<string, string>> = {}) =>
      this.waitstate.addAgent(name, {
        entry: fileURLToPath(new URL(`../examples/${name}/agent.ts`, import.meta.url)),
        environment,
      });
    const table = newExamplesTable(this);
    for (const name of ['refunds', 'travel'])
      grantExamplesTable(table, addExample(name, { EXAMPLES_TABLE: table.tableName }));
    const assistant = addExample('model-loop', model ? { WAITSTATE_MODEL: model } : {});
    if (model) this.#grantInvokeModel(assistant, model);
    if (email)
      for (const topic of [this.waitstate.topic, this.waitstate.alarmTopic])
        topic?.addSubscription(new EmailSubscription(email));
  }

  /** Lets a function invoke a model in this region, or an inference profile, which chooses the region. */
  #grantInvokeModel(fn: IFunction, model: string): void {
    const [, profiledModel] = /^(?:global|us|us-gov|eu|apac|jp|au|ca)\.(.+)$/.exec(model) ?? [];
    const modelArn = this.formatArn({
      service: 'bedrock',
      account: '',
      resource: 'foundation-model',
      resourceName: profiledModel ?? model,
      ...(profiledModel && { region: '*' }),
    });
    const profileArn = this.formatArn({ service: 'bedrock', resource: 'inference-profile', resourceName: model });
    const resources = profiledModel ? [modelArn, profileArn] : [modelArn];
    fn.addToRolePolicy(new PolicyStatement({ actions: ['bedrock:InvokeModelWithResponseStream'], resources }));
    if (profiledModel)
      acknowledgeWildcards(fn.role, [modelArn], 'An inference profile invokes its model in regions that it chooses.');
  }
}

/** The table of the simulated services. It is deleted with the stack, and has no data of runs. */
export const newExamplesTable = (stack: Stack): Table =>
  new Table(stack, 'ExamplesTable', {
    partitionKey: { name: 'service', type: AttributeType.STRING },
    sortKey: { name: 'key', type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    removalPolicy: RemovalPolicy.DESTROY,
  });

/** Lets the function of an example use the table; a transaction needs the permission of each write in it. */
export const grantExamplesTable = (table: Table, fn: IFunction): Grant =>
  table.grant(fn, ...['GetItem', 'Query', 'PutItem', 'UpdateItem'].map((action) => `dynamodb:${action}`));
