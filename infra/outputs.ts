import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { outputPrefix, STACK_OUTPUTS } from '../lambda/handlers/stack-outputs.ts';

type OutputName = keyof typeof STACK_OUTPUTS;

/**
 * Adds the stack outputs by which the command line finds the storage. Those of the first Waitstate in a stack have the
 * plain names. Those of the others are prefixed with the construct path, and the command line finds them as `stack#id`.
 */
export function addOutputs(scope: Construct, values: Readonly<Partial<Record<OutputName, string>>>): void {
  const stack = Stack.of(scope);
  const isFirst = stack.node.tryFindChild(STACK_OUTPUTS.table) === undefined;
  const prefix = isFirst ? '' : outputPrefix(scope.node.path.slice(stack.node.path.length));
  for (const [name, value] of Object.entries(values) as [OutputName, string][])
    new CfnOutput(stack, prefix + STACK_OUTPUTS[name], { value });
}
