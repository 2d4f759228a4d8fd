import { SetupError } from './setup-error.ts';

/** What the app is told by `-c operators=…`, so that its API knows whoever STS calls so: the name of a role, or the ARN of a user. */
export function operatorsOf(arn: string): string {
  const [, kind, name] = /^arn:[^:]+:(?:iam|sts)::\d+:(assumed-role|user)\/([^/]+)/.exec(arn) ?? [];
  if (kind === 'assumed-role' && name !== undefined) return name;
  if (kind === 'user') return arn;
  throw new SetupError(
    `This must be run by a role or a user of IAM, whom the API can know; the credentials are those of ${arn}. Assume a role, or set AWS_PROFILE to a profile that does.`,
  );
}
