import { SetupError } from './setup-error.ts';

/**
 * The value of `-c operators=…` that lets the API identify the caller with this ARN: the name of a role, or the ARN of
 * a user.
 */
export function operatorsOf(arn: string): string {
  const [, kind, name] = /^arn:[^:]+:(?:iam|sts)::\d+:(assumed-role|user)\/([^/]+)/.exec(arn) ?? [];
  if (kind === 'assumed-role' && name !== undefined) return name;
  if (kind === 'user') return arn;
  throw new SetupError(
    `Run this as an IAM role or user, which the API can identify; the credentials belong to ${arn}. Assume a role, or set AWS_PROFILE to a profile that does.`,
  );
}
