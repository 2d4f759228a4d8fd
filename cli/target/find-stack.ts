import { WaitstateError } from '../../lambda/core/errors.ts';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import { outputPrefix, STACK_OUTPUTS } from '../../lambda/handlers/stack-outputs.ts';
import { createAwsCall } from '../../lambda/storage/aws/aws-calls.ts';
import { importOptionalPeer } from '../../lambda/storage/aws/import-optional-peer.ts';
import type { AwsTarget } from './target.ts';

/** Finds the storage of a deployed stack by its outputs; `stack#id` is a second Waitstate construct in the same stack. */
export async function findStack(stack: string): Promise<AwsTarget> {
  const [name = '', constructId = ''] = stack.split('#');
  const prefix = outputPrefix(constructId);
  const outputs = await readStackOutputs(name);
  const { table, bucket, apiUrl, key } = STACK_OUTPUTS;
  const optional = (output: string): string | undefined => outputs.get(prefix + output);
  const required = (output: string): string => {
    const value = optional(output);
    if (value) return value;
    const found = [...outputs.keys()].join(', ') || 'no outputs';
    throw new WaitstateError(
      'STORAGE_MISSING',
      `Stack "${name}" must have an output "${prefix}${output}"; found ${found}. Name the stack that contains the Waitstate construct.`,
    );
  };
  return {
    kind: 'aws',
    stack,
    table: required(table),
    bucket: required(bucket),
    ...omitUndefined({ apiUrl: optional(apiUrl), key: optional(key) }),
  };
}

async function readStackOutputs(stack: string): Promise<ReadonlyMap<string, string>> {
  const sdk = await importOptionalPeer(
    '@aws-sdk/client-cloudformation',
    () => import('@aws-sdk/client-cloudformation'),
  );
  const client = new sdk.CloudFormationClient({ maxAttempts: 1 });
  const call = { resource: `CloudFormation stack "${stack}"`, actions: ['cloudformation:DescribeStacks'] };
  try {
    const response = await createAwsCall(() => client, { maxAttempts: 4 })(call, (cloudFormation) =>
      cloudFormation.send(new sdk.DescribeStacksCommand({ StackName: stack })),
    );
    const outputs = response.Stacks?.[0]?.Outputs ?? [];
    return new Map(outputs.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]));
  } catch (error) {
    throw isStackMissing(error) ? stackNotFound(stack, await client.config.region(), error) : error;
  } finally {
    client.destroy();
  }
}

const isStackMissing = (error: unknown): boolean =>
  error instanceof WaitstateError && /does not exist/.test(error.message);

const stackNotFound = (stack: string, region: string, cause: unknown): WaitstateError =>
  new WaitstateError(
    'STORAGE_MISSING',
    `CloudFormation stack "${stack}" was not found in region ${region}. Check the name, the region (--region) and the account (--profile).`,
    { cause },
  );
