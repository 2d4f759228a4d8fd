import { Stack, Validations } from 'aws-cdk-lib';
import { Construct, type IConstruct } from 'constructs';

/** Acknowledges findings of security checks on a construct, each with the reason why it is accepted. */
export function acknowledge(construct: IConstruct, reasons: Readonly<Record<string, string>>): void {
  Validations.of(construct).acknowledge(...Object.entries(reasons).map(([id, reason]) => ({ id, reason })));
}

/** Acknowledges the wildcards in exactly these ARNs. An imported principal has no findings here, so it is skipped. */
export function acknowledgeWildcards(principal: unknown, arns: readonly string[], reason: string): void {
  if (!Construct.isConstruct(principal)) return;
  const stack = Stack.of(principal);
  acknowledge(
    principal,
    Object.fromEntries(arns.map((arn) => [`AwsSolutions-IAM5[Resource::${toRuleText(stack.resolve(arn))}]`, reason])),
  );
}

/** A template value in the notation of the checks: `<Bucket.Arn>/*`. */
function toRuleText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const [[name, args] = ['', undefined]] = Object.entries(value);
  if (name === 'Fn::Join' && Array.isArray(args)) return (args[1] as unknown[]).map(toRuleText).join(args[0]);
  return `<${Array.isArray(args) ? args.join('.') : args}>`;
}
