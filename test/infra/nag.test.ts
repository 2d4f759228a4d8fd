import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type App, type AppProps, Validations } from 'aws-cdk-lib';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { WORK } from '../../infra/api-permissions.ts';
import { ExampleStack } from '../../infra/example-stack.ts';
import { repeats } from '../deep.ts';
import { allOptions, existingResources, grantAll, stackOf, withAgents } from './stacks.ts';
import { testApp } from './template.ts';

// CDK loads the schemas of all resource types to validate a template, which takes longer than everything else here.
// schemas.test.ts validates the same templates against these schemas.
const CDK_VALIDATION = { builtinCloudFormationValidation: repeats(false, true) };

/** An app that AwsSolutions checks at synthesis. */
function checkedApp(props: AppProps = {}): App {
  const app = testApp(props);
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  return app;
}

function waitstateIn(app: App, props: typeof allOptions = () => ({}), tenant = 'default'): App {
  const stack = stackOf(app);
  grantAll(withAgents(stack, props(stack)), stack, { tenant });
  // The other functions stand for those of users, which have the AWS managed policy and an older Python.
  for (const each of stack.node.children.filter(({ node }) => node.id !== 'Waitstate'))
    Validations.of(each).acknowledge(
      ...['IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]', 'L1'].map(
        (rule) => ({ id: `AwsSolutions-${rule}`, reason: 'It is a user function in a test.' }),
      ),
    );
  return app;
}

/** The findings in the report of the assembly. */
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

describe('the AwsSolutions rules of cdk-nag', () => {
  it('find nothing in the app, with a model in the region or an inference profile', () => {
    for (const model of ['anthropic.claude-x-v1:0', 'eu.anthropic.claude-x-v1:0']) {
      const app = checkedApp();
      new ExampleStack(app, 'Waitstate', { email: 'ops@example.com', operators: 'Admin', model, disposable: true });
      expect(foundIn(app)).toEqual([]);
    }
  });

  it('find nothing in a Waitstate and its grantees', () => {
    expect(foundIn(waitstateIn(checkedApp()))).toEqual([]);
  });

  it('find nothing with all options on', () => {
    expect(foundIn(waitstateIn(checkedApp(CDK_VALIDATION), allOptions, 'acme'))).toEqual([]);
  });

  it('find nothing with existing resources', () => {
    expect(foundIn(waitstateIn(checkedApp(), existingResources))).toEqual([]);
  });

  it('find a bucket that accepts unencrypted connections', () => {
    const app = checkedApp();
    const stack = stackOf(app);
    withAgents(stack, {}, []);
    new Bucket(stack, 'Loose');
    expect(() => app.synth()).toThrow(/AwsSolutions-S10/);
  });
});

describe('the acknowledged findings', () => {
  const shortRule = (rule: string): string =>
    rule
      .replace(/^Annotation::AwsSolutions-/, '')
      .replace(/<WaitstateBucket\w{8}\.Arn>/, 'Bucket')
      .replace(
        /arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:<WaitstateHttpApiHttp\w{8}>/,
        'HttpApi',
      );

  /** The acknowledged rules with their reason, and the constructs that they belong to, without the user functions. */
  function acknowledgedIn(app: App): Readonly<Record<string, readonly string[]>> {
    const all = app.node.findAll().flatMap(({ node }) =>
      node.metadata
        .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
        .flatMap(({ data }) => Object.entries(data as Record<string, string>))
        .map(([rule, reason]) => ({
          finding: `${shortRule(rule)}: ${reason}`,
          at: node.path.replace(/^Stack\/(Waitstate\/)?/, ''),
        })),
    );
    const ours = all.filter(({ finding }) => !finding.endsWith('It is a user function in a test.'));
    return Object.fromEntries(
      [...Map.groupBy(ours, ({ finding }) => finding)].map(([finding, found]) => [
        finding,
        found.map(({ at }) => at).sort(),
      ]),
    );
  }

  const PAYLOADS = 'Payloads have random names under the prefix of their tenant and run.';
  const PATHS = 'Paths contain ids of runs, and the API has one stage.';
  const LINKS =
    'The token of an approval link authorizes: 256 random bits, for one approval and one person. This route serves nothing else.';

  const PLAIN = {
    [`APIG4: ${LINKS}`]: ['GET', 'HEAD', 'POST'].map((method) => `HttpApi/Http/${method}--approvals--{proxy+}`),
    'APIG4: It only redirects to the console, which requires authorization.': [
      'HttpApi/Http/GET--',
      'HttpApi/Http/HEAD--',
    ],
    'IAM5[Resource::*]: dynamodb:ListStreams does not support resource ARNs.': [
      'Notify/StreamPolicy',
      'Resume/StreamPolicy',
    ],
    [`IAM5[Resource::Bucket/*]: ${PAYLOADS}`]: [
      'Agent-refundsRole',
      'ApiRole',
      'CheckpointRole',
      'NotifyRole',
      'Quotes/ServiceRole',
      'ResumeRole',
      'SweepRole',
    ],
    [`IAM5[Resource::Bucket/default/*]: ${PAYLOADS}`]: ['Administrator/ServiceRole', 'Storer/ServiceRole'],
    'IAM5[Resource::arn:<AWS::Partition>:cloudformation:<AWS::Region>:<AWS::AccountId>:stack/Stack/*]: A stack that is found by name has no known UUID.':
      ['Administrator/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/*/api/*]: ${PATHS}`]: ['Operator/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/*/console/*]: ${PATHS}`]: ['Operator/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/*/console]: ${PATHS}`]: ['Operator/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/GET/api/*]: ${PATHS}`]: ['Reader/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/GET/console/*]: ${PATHS}`]: ['Reader/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/GET/console]: ${PATHS}`]: ['Reader/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/GET/api/approvals]: ${PATHS}`]: ['Portal/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/GET/api/delegations]: ${PATHS}`]: ['Portal/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/POST/api/approvals/decide]: ${PATHS}`]: ['Portal/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/POST/api/delegations]: ${PATHS}`]: ['Portal/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/POST/api/delegations/*/end]: ${PATHS}`]: ['Portal/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/GET/api/me]: ${PATHS}`]: ['Portal/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/GET/api/runs/*/approvals/*]: ${PATHS}`]: ['Portal/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/GET/api/runs/*/approvals/*/payloads/*]: ${PATHS}`]: ['Portal/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/POST/api/runs/*/approvals/*/decide]: ${PATHS}`]: ['Portal/ServiceRole'],
    [`IAM5[Resource::HttpApi/*/POST/api/runs]: ${PATHS}`]: ['Starter/ServiceRole'],
    ...Object.fromEntries(
      WORK.routes.map(([method, path]) => [
        `IAM5[Resource::HttpApi/*/${method}${path.replace('{run}', '*')}]: ${PATHS}`,
        ['Worker/ServiceRole'],
      ]),
    ),
    'S1: Only the functions of this stack read and write payloads, under random names. CloudTrail data events can record access, and `accessLogBucket` turns on access logs.':
      ['Bucket'],
    'SQS3: This is the dead-letter queue.': ['DeadLetters'],
  };

  it('are exactly the expected ones by default', () => {
    expect(acknowledgedIn(waitstateIn(testApp()))).toEqual(PLAIN);
  });

  it('include the expected ones with a network and tenants', () => {
    const acknowledged = acknowledgedIn(waitstateIn(testApp(), allOptions, 'acme'));
    expect(
      Object.keys(acknowledged)
        .filter((finding) => !(finding in PLAIN))
        .sort(),
    ).toEqual([
      'IAM5[Resource::*]: Network interfaces of a function have no names before Lambda creates them.',
      `IAM5[Resource::Bucket/acme/*]: ${PAYLOADS}`,
      `IAM5[Resource::Bucket/globex/*]: ${PAYLOADS}`,
    ]);
  });
});
