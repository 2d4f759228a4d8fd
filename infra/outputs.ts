import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { outputPrefix, STACK_OUTPUTS } from '../lambda/handlers/stack-outputs.ts';

type OutputName = keyof typeof STACK_OUTPUTS;

const named = new WeakSet<Stack>();

/**
 * Says where runs are, in outputs that the command reads by their names. The names belong to the first Holdpoint of a
 * stack; those of another have its place in front, and the command finds it as `stack#id`.
 */
export function addOutputs(scope: Construct, values: Readonly<Partial<Record<OutputName, string>>>): void {
  const stack = Stack.of(scope);
  const prefix = named.has(stack) ? outputPrefix(scope.node.path.slice(stack.node.path.length)) : '';
  named.add(stack);
  for (const [name, value] of Object.entries(values) as [OutputName, string][])
    new CfnOutput(scope, STACK_OUTPUTS[name], { value }).overrideLogicalId(prefix + STACK_OUTPUTS[name]);
}
