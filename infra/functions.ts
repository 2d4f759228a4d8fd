import { Aws, Stack } from 'aws-cdk-lib';
import { Policy, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, type FunctionOptions, LoggingFormat } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { omitUndefined } from '../lambda/core/omit-undefined.ts';
import { acknowledge } from './acknowledge.ts';
import type { ResolvedProps } from './resolved-props.ts';

/**
 * The options that handlers and agents share: each function gets a role and a log group, and the network of the props.
 */
export function functionOptions(scope: Construct, id: string, props: ResolvedProps) {
  const { vpc, vpcSubnets, securityGroups } = props;
  const logGroup = newLogGroup(scope, `${id}Log`, props);
  const role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  logGroup.grantWrite(role);
  if (vpc) grantNetworkAccess(role);
  return {
    architecture: Architecture.ARM_64,
    role,
    logGroup,
    loggingFormat: LoggingFormat.JSON,
    ...omitUndefined({ vpc, vpcSubnets, functionName: functionName(scope, id, props) }),
    ...(securityGroups && { securityGroups: [...securityGroups] }),
  } satisfies FunctionOptions;
}

/** https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html */
const MAX_NAME_LENGTH = 64;

/** The name of a function with the prefix of the props, such as `orders-agent-refunds`; undefined without a prefix. */
function functionName({ node }: Construct, id: string, { functionNamePrefix }: ResolvedProps): string | undefined {
  if (functionNamePrefix === undefined) return undefined;
  const name = `${functionNamePrefix}-${id.replace(/^[A-Z]/, (first) => first.toLowerCase()).replace(/[^\w-]+/g, '-')}`;
  if (name.length > MAX_NAME_LENGTH)
    throw new Error(
      `${node.path}: the name of a function has at most ${MAX_NAME_LENGTH} characters; found "${name}" with ${name.length}. Use a shorter \`functionNamePrefix\`.`,
    );
  return name;
}

/** Lets Lambda connect a function to a VPC. Unlike the AWS managed policy, it grants no access to other log groups. */
function grantNetworkAccess(role: Role): void {
  const policy = new Policy(role, 'Network', {
    statements: [
      new PolicyStatement({
        actions: [
          'ec2:AssignPrivateIpAddresses',
          'ec2:CreateNetworkInterface',
          'ec2:DeleteNetworkInterface',
          'ec2:DescribeNetworkInterfaces',
          'ec2:DescribeSubnets',
          'ec2:UnassignPrivateIpAddresses',
        ],
        resources: ['*'],
      }),
    ],
    roles: [role],
  });
  acknowledge(policy, {
    'AwsSolutions-IAM5[Resource::*]': 'Network interfaces of a function have no names before Lambda creates them.',
  });
}

/** Makes Node.js map stack traces to the sources. */
export const SOURCE_MAP_ENVIRONMENT = { NODE_OPTIONS: '--enable-source-maps' };

/**
 * Creates a log group with the retention, the encryption key and the removal policy of the props. Without a name,
 * CloudFormation generates one.
 */
export function newLogGroup(scope: Construct, id: string, props: ResolvedProps, logGroupName?: string): LogGroup {
  const { logRetention, encryptionKey, removalPolicy } = props;
  const logGroup = new LogGroup(scope, id, {
    retention: logRetention,
    removalPolicy,
    ...omitUndefined({ encryptionKey, logGroupName }),
  });
  if (encryptionKey) {
    // https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html
    const { account, region, partition } = Stack.of(scope);
    encryptionKey.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal(`logs.${Aws.REGION}.${Aws.URL_SUFFIX}`)],
        actions: ['kms:Encrypt', 'kms:Decrypt', 'kms:ReEncrypt*', 'kms:GenerateDataKey*', 'kms:Describe*'],
        resources: ['*'],
        conditions: {
          ArnLike: { 'kms:EncryptionContext:aws:logs:arn': `arn:${partition}:logs:${region}:${account}:log-group:*` },
        },
      }),
    );
  }
  return logGroup;
}
