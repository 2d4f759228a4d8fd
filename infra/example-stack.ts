import { fileURLToPath } from 'node:url';
import { Duration, RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { Construct } from 'constructs';
import { acknowledgeWildcards } from './acknowledge.ts';
import { Waitstate } from './waitstate.ts';

/** What the app may be told. */
export interface ExampleStackProps extends StackProps {
  /** Hears of approvals and alarms. @default nobody does */
  readonly email?: string;
  /**
   * The name of a role of this account that may operate in the console, such as `Admin`, or the ARN by which IAM knows
   * whoever else may; `*` is any text. @default none may
   */
  readonly operators?: string;
  /** The model of Amazon Bedrock that the model loop asks. @default its answers are scripted */
  readonly model?: string;
  /** Whether the runs go with the stack. @default false */
  readonly disposable?: boolean;
}

/** Waitstate with the agents of the examples. */
export class ExampleStack extends Stack {
  readonly waitstate: Waitstate;

  constructor(scope: Construct, id: string, props: ExampleStackProps = {}) {
    super(scope, id, { description: 'Waitstate, with three agents to try it with', ...props });
    const { email, operators, model, disposable = false } = props;
    const operator = operators?.startsWith('arn:')
      ? operators
      : `arn:${this.partition}:sts::${this.account}:assumed-role/${operators}/*`;
    this.waitstate = new Waitstate(this, 'Waitstate', {
      retention: Duration.days(90),
      ...(disposable && { removalPolicy: RemovalPolicy.DESTROY }),
      ...(operators && {
        iamCallers: { [operator]: { tenant: 'default', roles: ['operator', 'approver'], answersForOthers: true } },
      }),
    });
    const agentOf = (name: string, environment: Readonly<Record<string, string>> = {}) =>
      this.waitstate.addAgent(name, {
        entry: fileURLToPath(new URL(`../examples/${name}/agent.ts`, import.meta.url)),
        environment,
      });
    agentOf('refunds');
    agentOf('travel');
    const assistant = agentOf('model-loop', model ? { WAITSTATE_MODEL: model } : {});
    if (model) this.#letAsk(assistant, model);
    if (email)
      for (const topic of [this.waitstate.topic, this.waitstate.alarmTopic])
        topic?.addSubscription(new EmailSubscription(email));
  }
  /** Lets a function ask a model: by its own id in this region, by that of an inference profile wherever the profile leads. */
  #letAsk(asking: IFunction, model: string): void {
    const [, ofProfile] = /^(?:global|us|us-gov|eu|apac|jp|au|ca)\.(.+)$/.exec(model) ?? [];
    const itself = this.formatArn({
      ...{ service: 'bedrock', account: '', resource: 'foundation-model', resourceName: ofProfile ?? model },
      ...(ofProfile && { region: '*' }),
    });
    const profile = this.formatArn({ service: 'bedrock', resource: 'inference-profile', resourceName: model });
    asking.addToRolePolicy(
      new PolicyStatement({ actions: ['bedrock:InvokeModel'], resources: ofProfile ? [itself, profile] : [itself] }),
    );
    if (ofProfile)
      acknowledgeWildcards(
        asking.role,
        [itself],
        'An inference profile asks its model in the regions that it chooses.',
      );
  }
}
