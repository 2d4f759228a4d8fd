import { ArnFormat, Stack, Token } from 'aws-cdk-lib';
import type { CfnRole, IRole } from 'aws-cdk-lib/aws-iam';
import {
  type CfnFunction,
  type IFunction,
  Function as LambdaFunction,
  QualifiedFunctionBase,
} from 'aws-cdk-lib/aws-lambda';
import { Construct, type IConstruct } from 'constructs';

/**
 * A function as the stack of this construct knows it. One of another stack needs this one, so it is known by a name that was
 * chosen for it: the two stacks would need each other otherwise.
 */
export function functionVisibleTo(scope: Construct, id: string, behind: IFunction): IFunction {
  const there = Stack.of(behind);
  const isElsewhere = there !== Stack.of(scope);
  if (!isElsewhere || !(behind instanceof LambdaFunction || behind instanceof QualifiedFunctionBase)) return behind;
  const resourceName = chosenName((behind.node.defaultChild as Partial<CfnFunction>).functionName);
  if (behind instanceof QualifiedFunctionBase || resourceName === undefined)
    throw needEachOther(scope, behind, '`functionName`');
  const functionArn = there.formatArn({
    ...{ service: 'lambda', resource: 'function', resourceName },
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  return LambdaFunction.fromFunctionAttributes(scope, id, { functionArn, sameEnvironment: true });
}

/** The name of a role as the stack of this construct knows it. */
export function roleNameVisibleTo(scope: Construct, role: IRole): string {
  const made = Construct.isConstruct(role) ? (role.node.defaultChild as Partial<CfnRole> | undefined) : undefined;
  if (!made || Stack.of(role) === Stack.of(scope)) return role.roleName;
  const name = chosenName(made.roleName);
  if (name === undefined) throw needEachOther(scope, role, '`roleName`');
  return name;
}

const chosenName = (name: string | undefined): string | undefined =>
  name === undefined || Token.isUnresolved(name) ? undefined : name;

const needEachOther = (scope: IConstruct, other: IConstruct, name: string): Error =>
  new Error(
    `${scope.node.path}: ${other.node.path} is in another stack, and each of the two would need the other. Give it a ${name}, or make it in this stack.`,
  );
