import { describe, expect, it } from 'vitest';
import { linesOf, type Policy, permissionsOf } from './permissions.ts';
import { allOptions, existingResources, grantAll, stackOf, withAgents } from './stacks.ts';
import { StackTemplate } from './template.ts';

function templateOf(props: typeof allOptions = () => ({}), tenant = 'default'): StackTemplate {
  const stack = stackOf();
  grantAll(withAgents(stack, props(stack)), stack, { tenant });
  return new StackTemplate(stack);
}

const PLAIN = templateOf();
const EVERYTHING = templateOf(allOptions, 'acme');
const EXISTING = templateOf(existingResources);

describe('the wildcards in role policies', () => {
  const lines = [PLAIN, EVERYTHING, EXISTING].flatMap((each) => Object.values(permissionsOf(each)).flat());

  it('match every resource only for actions without resource ARNs', () => {
    const nameless = [
      // This action has no resources:
      // https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html
      'dynamodb:ListStreams on *',
      // Lambda creates the interfaces and their names:
      // https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html
      'ec2:{AssignPrivateIpAddresses,CreateNetworkInterface,DeleteNetworkInterface,DescribeNetworkInterfaces,DescribeSubnets,UnassignPrivateIpAddresses} on *',
    ];
    expect(new Set(lines.filter((line) => / on \*/.test(line)))).toEqual(new Set(nameless));
  });

  it('match a part of a resource only in the bucket, the API and the UUID of the stack', () => {
    const parts = lines.flatMap((line) => / on (HttpApi: \S+ \S+|\S+)/.exec(line)?.[1] ?? []);
    const known =
      /^((Bucket|arn:<AWS::Partition>:s3:::payloads)\/((acme|globex|default)\/)?\*|HttpApi: (\*|GET|POST) \/\S+|arn:\S+:cloudformation:\S+:stack\/Stack\/\*)$/;
    const starred = new Set(parts.filter((each) => each.includes('*') && each !== '*'));
    expect([...starred].filter((each) => !known.test(each))).toEqual([]);
    expect(starred.size).toBeGreaterThan(10);
  });

  it('never occur in actions', () => {
    expect(lines.filter((line) => line.split(' ', 1)[0]?.includes('*'))).toEqual([]);
  });
});

describe('the roles', () => {
  it('can be assumed only by Lambda', () => {
    for (const role of EVERYTHING.all('AWS::IAM::Role'))
      expect(role.Properties.AssumeRolePolicyDocument, role.name).toEqual({
        Version: '2012-10-17',
        Statement: [{ Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } }],
      });
  });

  it('differ for each function', () => {
    const functions = EVERYTHING.all<{ Role: unknown }>('AWS::Lambda::Function');
    expect(new Set(functions.map((each) => EVERYTHING.text(each.Properties.Role))).size).toBe(functions.length);
  });

  it('are the only principals with policies', () => {
    for (const type of ['AWS::IAM::ManagedPolicy', 'AWS::IAM::User', 'AWS::IAM::Group'])
      expect(EVERYTHING.all(type), type).toEqual([]);
    for (const each of EVERYTHING.all('AWS::IAM::Policy')) {
      expect(each.Properties, each.name).toMatchObject({ Roles: [expect.anything()] });
      expect(Object.keys(each.Properties).sort()).toEqual(['PolicyDocument', 'PolicyName', 'Roles']);
    }
  });
});

describe('the resource policies', () => {
  const policiesOf = (template: StackTemplate, type: string, property = 'PolicyDocument') =>
    Object.fromEntries(
      template
        .all<Record<string, Policy>>(type)
        .map(({ name, Properties: { [property]: policy } }) => [name, policy && linesOf(template, [policy])]),
    );

  it('require TLS 1.2 for the bucket and allow nobody else', () => {
    expect(policiesOf(PLAIN, 'AWS::S3::BucketPolicy')).toEqual({
      'Bucket/Policy': [
        'Deny: s3:* on Bucket by AWS * [Bool aws:SecureTransport false]',
        'Deny: s3:* on Bucket/* by AWS * [Bool aws:SecureTransport false]',
        'Deny: s3:* on Bucket by AWS * [NumericLessThan s3:TlsVersion 1.2]',
        'Deny: s3:* on Bucket/* by AWS * [NumericLessThan s3:TlsVersion 1.2]',
      ],
    });
  });

  it('allow schedules to use the dead-letter queue and CloudWatch to use the alarm topic', () => {
    expect(policiesOf(PLAIN, 'AWS::SQS::QueuePolicy')).toEqual({
      'DeadLetters/Policy': [
        'Deny: sqs:* on DeadLetters by AWS * [Bool aws:SecureTransport false]',
        'sqs:SendMessage on DeadLetters by Service events.amazonaws.com [ArnEquals aws:SourceArn <Sweep/Schedule.Arn>]',
        'sqs:SendMessage on DeadLetters by Service events.amazonaws.com [ArnEquals aws:SourceArn <Sweep/Collection.Arn>]',
        'sqs:SendMessage on DeadLetters by Service events.amazonaws.com [ArnEquals aws:SourceArn <Gauge/Schedule.Arn>]',
      ],
    });
    expect(policiesOf(PLAIN, 'AWS::SNS::TopicPolicy')).toEqual({
      'Topic/Policy': ['Deny: sns:Publish on Topic by * [Bool aws:SecureTransport false]'],
      'AlarmTopic/Policy': [
        'Deny: sns:Publish on AlarmTopic by * [Bool aws:SecureTransport false]',
        'sns:Publish on AlarmTopic by Service cloudwatch.amazonaws.com [StringEquals aws:SourceAccount <AWS::AccountId>]',
      ],
    });
  });

  it('allow logs and alarms of this account to use the encryption key, and nobody to use the run key', () => {
    const account = 'kms:* on * by AWS arn:<AWS::Partition>:iam::<AWS::AccountId>:root';
    expect(policiesOf(EVERYTHING, 'AWS::KMS::Key', 'KeyPolicy')).toEqual({
      AtRest: [
        account,
        'kms:{Decrypt,Describe*,Encrypt,GenerateDataKey*,ReEncrypt*} on * by Service logs.<AWS::Region>.<AWS::URLSuffix> [ArnLike kms:EncryptionContext:aws:logs:arn arn:<AWS::Partition>:logs:<AWS::Region>:<AWS::AccountId>:log-group:*]',
        'kms:{Decrypt,GenerateDataKey*} on * by Service cloudwatch.amazonaws.com [StringEquals aws:SourceAccount <AWS::AccountId>]',
      ],
      Runs: [account],
      OldRuns: [account],
    });
  });

  it('allow only its API or its schedule to invoke a function', () => {
    const from = (api: string) => `arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:<${api}/Http>/*/*/*`;
    const invoke = { Action: 'lambda:InvokeFunction' };
    expect(EVERYTHING.all('AWS::Lambda::Permission').map((each) => EVERYTHING.plain(each.Properties))).toEqual([
      { ...invoke, FunctionName: '<Gauge.Arn>', Principal: 'events.amazonaws.com', SourceArn: '<Gauge/Schedule.Arn>' },
      ...['<Sweep/Schedule.Arn>', '<Sweep/Collection.Arn>'].map((SourceArn) => ({
        ...{ ...invoke, FunctionName: '<Sweep.Arn>' },
        ...{ Principal: 'events.amazonaws.com', SourceArn },
      })),
      { ...invoke, FunctionName: '<Api.Arn>', Principal: 'apigateway.amazonaws.com', SourceArn: from('HttpApi') },
      { ...invoke, FunctionName: '<Api.Arn>', Principal: 'apigateway.amazonaws.com', SourceArn: from('JwtHttpApi') },
    ]);
  });
});
