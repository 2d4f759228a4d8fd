import { Stack, Validations } from 'aws-cdk-lib';
import { Construct, type IConstruct } from 'constructs';

/** Answers rules of security checks that do not fit a construct, each with the reason. */
export function acknowledge(construct: IConstruct, reasons: Readonly<Record<string, string>>): void {
  Validations.of(construct).acknowledge(...Object.entries(reasons).map(([id, reason]) => ({ id, reason })));
}

/** Answers that these resources have a wildcard in them: these, and no others. What is deployed elsewhere answers for itself. */
export function acknowledgeWildcards(principal: unknown, arns: readonly string[], reason: string): void {
  if (!Construct.isConstruct(principal)) return;
  const stack = Stack.of(principal);
  acknowledge(
    principal,
    Object.fromEntries(arns.map((arn) => [`AwsSolutions-IAM5[Resource::${written(stack.resolve(arn))}]`, reason])),
  );
}

/** A value of a template as checks write it: `<Bucket.Arn>/*`. */
function written(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const [[kind, of] = ['', undefined]] = Object.entries(value);
  if (kind === 'Fn::Join' && Array.isArray(of)) return (of[1] as unknown[]).map(written).join(of[0]);
  return `<${Array.isArray(of) ? of.join('.') : of}>`;
}
