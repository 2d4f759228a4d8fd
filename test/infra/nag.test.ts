import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type App, type AppProps, Validations } from 'aws-cdk-lib';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { ExampleStack } from '../../infra/example-stack.ts';
import { allOptions, existingResources, grantAll, stackOf, withAgents } from './stacks.ts';
import { testApp } from './template.ts';

/** An app that is checked by AwsSolutions when it is synthesised. */
function checkedApp(props: AppProps = {}): App {
  const app = testApp(props);
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  return app;
}

function waitstateIn(app: App, props: typeof allOptions = () => ({}), tenant = 'default'): App {
  const stack = stackOf(app);
  grantAll(withAgents(stack, props(stack)), stack, { tenant });
  // What is not ours to decide: functions of somebody else as they come, with the policy of AWS, in an older Python.
  for (const each of stack.node.children.filter(({ node }) => node.id !== 'Waitstate'))
    Validations.of(each).acknowledge(
      ...['IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]', 'L1'].map(
        (rule) => ({ id: `AwsSolutions-${rule}`, reason: 'It is a stranger in a test.' }),
      ),
    );
  return app;
}

/** What was found, as the report in the assembly has it. */
function foundIn(app: App): readonly string[] {
  app.synth();
  const report = JSON.parse(readFileSync(join(app.outdir, 'validation-report.json'), 'utf8')) as {
    readonly pluginReports: readonly {
      readonly pluginName: string;
      readonly violations: readonly { readonly ruleName: string }[];
    }[];
  };
  return report.pluginReports.flatMap(({ pluginName, violations }) =>
    violations.map(({ ruleName }) => `${pluginName} ${ruleName}`),
  );
}

describe('AwsSolutions', () => {
  it('finds nothing in the app, with a model in the region or one that leads elsewhere', () => {
    for (const model of ['anthropic.claude-x-v1:0', 'eu.anthropic.claude-x-v1:0']) {
      const app = checkedApp();
      new ExampleStack(app, 'Waitstate', { email: 'ops@example.com', operators: 'Admin', model, disposable: true });
      expect(foundIn(app)).toEqual([]);
    }
  });

  it('finds nothing in a Waitstate and those who were granted something', () => {
    expect(foundIn(waitstateIn(checkedApp()))).toEqual([]);
  });

  it('finds nothing with everything on, nor does CloudFormation', () => {
    expect(foundIn(waitstateIn(checkedApp({ builtinCloudFormationValidation: true }), allOptions, 'acme'))).toEqual([]);
  });

  it('finds nothing where all is brought', () => {
    expect(foundIn(waitstateIn(checkedApp(), existingResources))).toEqual([]);
  });

  it('would find a bucket that takes what is not encrypted on its way', () => {
    const app = checkedApp();
    const stack = stackOf(app);
    withAgents(stack, {}, []);
    new Bucket(stack, 'Loose');
    expect(() => app.synth()).toThrow(/AwsSolutions-S10/);
  });
});

describe('what was found and is answered', () => {
  const shortRule = (rule: string): string =>
    rule
      .replace(/^Annotation::AwsSolutions-/, '')
      .replace(/<WaitstateBucket\w{8}\.Arn>/, 'Bucket')
      .replace(
        /arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:<WaitstateHttpApiHttp\w{8}>/,
        'HttpApi',
      );

  /** The rules that were answered below the stack, by the reason: which constructs, without those that are strangers here. */
  function answersIn(app: App): Readonly<Record<string, readonly string[]>> {
    const all = app.node.findAll().flatMap(({ node }) =>
      node.metadata
        .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
        .flatMap(({ data }) => Object.entries(data as Record<string, string>))
        .map(([rule, reason]) => ({
          said: `${shortRule(rule)}: ${reason}`,
          at: node.path.replace(/^Stack\/(Waitstate\/)?/, ''),
        })),
    );
    const ours = all.filter(({ said }) => !said.endsWith('It is a stranger in a test.'));
    return Object.fromEntries(
      [...Map.groupBy(ours, ({ said }) => said)].map(([said, answers]) => [said, answers.map(({ at }) => at).sort()]),
    );
  }

  const PAYLOADS = 'Payloads have random names below their tenant and run.';
  const PATHS = 'Paths have ids of runs in them, and the API has one stage.';
  const LINKS =
    'Whoever has a link may answer it: 256 random bits open one approval for one person. Nothing else is behind this route.';

  const PLAIN = {
    [`APIG4: ${LINKS}`]: ['GET', 'HEAD', 'POST'].map((method) => `HttpApi/Http/${method}--approvals--{proxy+}`),
    'APIG4: It leads to the console, which is closed, and says nothing.': ['HttpApi/Http/GET--', 'HttpApi/Http/HEAD--'],
    'IAM5[Resource::*]: Segments of traces belong to no resource that could be named.': [
      'Agent-refunds/Tracing',
      ...['Api', 'Checkpoint', 'Gauge', 'Notify', 'Resume', 'Sweep'].map((handler) => `${handler}/Tracing`),
    ],
    'IAM5[Resource::*]: dynamodb:ListStreams knows no resource that could be named.': [
      ...['Notify/StreamPolicy', 'Resume/StreamPolicy'],
    ],
    [`IAM5[Resource::Bucket/*]: ${PAYLOADS}`]: [
      ...[
        'Agent-refundsRole',
        'ApiRole',
        'CheckpointRole',
        'NotifyRole',
        'Quotes/ServiceRole',
        'ResumeRole',
        'SweepRole',
      ],
    ],
    [`IAM5[Resource::Bucket/default/*]: ${PAYLOADS}`]: ['Administrator/ServiceRole', 'Storer/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/*/api/*]: ${PATHS}`]: ['Operator/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/*/console/*]: ${PATHS}`]: ['Operator/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/*/console]: ${PATHS}`]: ['Operator/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/GET/api/*]: ${PATHS}`]: ['Reader/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/GET/console/*]: ${PATHS}`]: ['Reader/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/GET/console]: ${PATHS}`]: ['Reader/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/GET/api/approvals]: ${PATHS}`]: ['Portal/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/GET/api/me]: ${PATHS}`]: ['Portal/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/GET/api/runs/*/approvals/*]: ${PATHS}`]: ['Portal/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/POST/api/runs/*/approvals/*/decide]: ${PATHS}`]: ['Portal/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/POST/api/runs]: ${PATHS}`]: ['Starter/ServiceRole'],
    'S1: Only the functions of this stack read and write payloads, under random names; data events of CloudTrail can tell who did, and `accessLogBucket` turns access logs on.':
      ['Bucket'],
    'SQS3: This is the dead-letter queue.': ['DeadLetters'],
  };

  it('is this', () => {
    expect(answersIn(waitstateIn(testApp()))).toEqual(PLAIN);
  });

  it('is this beside, where there are a network and tenants', () => {
    const answers = answersIn(waitstateIn(testApp(), allOptions, 'acme'));
    expect(
      Object.keys(answers)
        .filter((said) => !(said in PLAIN))
        .sort(),
    ).toEqual([
      'IAM5[Resource::*]: Network interfaces of a function have no names before Lambda makes them.',
      `IAM5[Resource::Bucket/acme/*]: ${PAYLOADS}`,
      `IAM5[Resource::Bucket/globex/*]: ${PAYLOADS}`,
    ]);
  });
});
