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
 * A function as this construct's stack can refer to it. A function of another stack depends on this stack, so it is
 * referred to by its explicit name; a reference would make the dependency circular.
 */
export function functionVisibleTo(scope: Construct, id: string, fn: IFunction): IFunction {
  const stack = Stack.of(fn);
  const isInOtherStack = stack !== Stack.of(scope);
  if (!isInOtherStack || !(fn instanceof LambdaFunction || fn instanceof QualifiedFunctionBase)) return fn;
  const resourceName = explicitName((fn.node.defaultChild as Partial<CfnFunction>).functionName);
  if (fn instanceof QualifiedFunctionBase || resourceName === undefined)
    throw circularStackError(scope, fn, '`functionName`');
  const functionArn = stack.formatArn({
    service: 'lambda',
    resource: 'function',
    resourceName,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  return LambdaFunction.fromFunctionAttributes(scope, id, { functionArn, sameEnvironment: true });
}

/** The name of a role as this construct's stack can refer to it. */
export function roleNameVisibleTo(scope: Construct, role: IRole): string {
  const resource = Construct.isConstruct(role) ? (role.node.defaultChild as Partial<CfnRole> | undefined) : undefined;
  if (!resource || Stack.of(role) === Stack.of(scope)) return role.roleName;
  const name = explicitName(resource.roleName);
  if (name === undefined) throw circularStackError(scope, role, '`roleName`');
  return name;
}

const explicitName = (name: string | undefined): string | undefined =>
  name === undefined || Token.isUnresolved(name) ? undefined : name;

const circularStackError = (scope: IConstruct, other: IConstruct, prop: string): Error =>
  new Error(
    `${scope.node.path}: ${other.node.path} is in another stack, and the two stacks would depend on each other. Give it an explicit ${prop}, or create it in this stack.`,
  );
