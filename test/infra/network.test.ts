import { Tags } from 'aws-cdk-lib';
import { ManagedPolicy, PermissionsBoundary } from 'aws-cdk-lib/aws-iam';
import { describe, expect, it } from 'vitest';
import { Waitstate } from '../../infra/index.ts';
import { allOptions, ENTRY, stackOf, vpcOf, withAgents } from './stacks.ts';
import { StackTemplate } from './template.ts';

describe('VPC endpoints', () => {
  const servicesOf = (template: StackTemplate) =>
    template
      .all('AWS::EC2::VPCEndpoint')
      .map(
        ({ Properties }) => `${Properties.VpcEndpointType} ${template.text(Properties.ServiceName).split('.').at(-1)}`,
      )
      .sort();

  it('cover every service that the functions call, and admit only the functions', () => {
    const stack = stackOf();
    const waitstate = new Waitstate(stack, 'Waitstate', { vpc: vpcOf(stack) });
    waitstate.addAgent('before', { entry: ENTRY });
    waitstate.addVpcEndpoints();
    waitstate.addAgent('after', { entry: ENTRY });
    const template = new StackTemplate(stack);
    expect(servicesOf(template)).toEqual([
      ...['Gateway dynamodb', 'Gateway s3', 'Interface events', 'Interface lambda', 'Interface sns'],
    ]);
    const admitted = template
      .all('AWS::EC2::SecurityGroupIngress')
      .map(({ Properties }) => [Properties.FromPort, template.text(Properties.SourceSecurityGroupId)].join(' '));
    const functions = ['Agent-after', 'Agent-before', 'Api', 'Checkpoint', 'Gauge', 'Notify', 'Resume', 'Sweep'];
    expect([...new Set(admitted)].sort()).toEqual(functions.map((name) => `443 <${name}/SecurityGroup.GroupId>`));
    expect(admitted.length).toBe(functions.length * 3);
  });

  it('include KMS if runs are encrypted, and can be limited to those that are missing', () => {
    const stack = stackOf();
    withAgents(stack, allOptions(stack), []).addVpcEndpoints();
    expect(servicesOf(new StackTemplate(stack))).toContain('Interface kms');
    const other = stackOf();
    new Waitstate(other, 'Waitstate', { vpc: vpcOf(other) }).addVpcEndpoints({ services: ['sns'] });
    expect(servicesOf(new StackTemplate(other))).toEqual(['Interface sns']);
    expect(() => new Waitstate(stackOf(), 'Waitstate').addVpcEndpoints()).toThrow(/require a network. Set `vpc`/);
  });
});

describe('the rules of an organization', () => {
  it('apply to all roles as a permissions boundary, and to all resources as tags', () => {
    const stack = stackOf();
    const waitstate = withAgents(stack, {}, ['refunds']);
    const arn = 'arn:aws:iam::111122223333:policy/Boundary';
    PermissionsBoundary.of(waitstate).apply(ManagedPolicy.fromManagedPolicyArn(stack, 'Boundary', arn));
    Tags.of(waitstate).add('cost-center', '4711');
    const template = new StackTemplate(stack);
    for (const { name, Properties } of template.all('AWS::IAM::Role'))
      expect(Properties.PermissionsBoundary, name).toBe(arn);
    for (const type of [
      ...['AWS::Lambda::Function', 'AWS::DynamoDB::Table', 'AWS::S3::Bucket', 'AWS::SQS::Queue', 'AWS::SNS::Topic'],
      ...['AWS::Logs::LogGroup', 'AWS::Events::EventBus', 'AWS::ApiGatewayV2::Api', 'AWS::ApiGatewayV2::Stage'],
      'AWS::CloudWatch::Alarm',
    ])
      for (const { name, Properties } of template.all(type))
        expect(JSON.stringify(Properties.Tags ?? {}), `${type} ${name}`).toMatch(/cost-center.*4711/);
  });
});
