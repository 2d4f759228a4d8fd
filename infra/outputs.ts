import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { outputPrefix, STACK_OUTPUTS } from '../lambda/handlers/stack-outputs.ts';

type OutputName = keyof typeof STACK_OUTPUTS;

/**
 * Says where runs are, in outputs that the command reads by their names. The names belong to the first Waitstate of a
 * stack; those of another have its place in front, and the command finds it as `stack#id`.
 */
export function addOutputs(scope: Construct, values: Readonly<Partial<Record<OutputName, string>>>): void {
  const stack = Stack.of(scope);
  const isFirst = stack.node.tryFindChild(STACK_OUTPUTS.table) === undefined;
  const prefix = isFirst ? '' : outputPrefix(scope.node.path.slice(stack.node.path.length));
  for (const [name, value] of Object.entries(values) as [OutputName, string][])
    new CfnOutput(stack, prefix + STACK_OUTPUTS[name], { value });
}
