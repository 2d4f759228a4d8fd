import { describe, expect, it } from 'vitest';
import { accounts } from '../scene.ts';
import { unused } from '../usage.ts';

const each = (roles: string, ...permissions: string[]): readonly string[] =>
  roles.split(' ').flatMap((role) => permissions.map((permission) => `${role}: ${permission}`));

/** What roles are allowed that no story uses, and why they have it all the same. */
const EXPLAINED: Readonly<Record<string, readonly string[]>> = {
  'What is stored in parts, above 8 MB, is given up when a part fails.': each(
    'Agent Api Checkpoint Resume Sweep',
    's3:AbortMultipartUpload on Bucket/…',
  ),
  'Without it S3 does not tell a payload that is gone from one that is not allowed.': each(
    'Agent Checkpoint Notify Resume',
    's3:ListBucket on Bucket',
  ),
  'Checkpoints are found by name, and several approvals of a run are read at once.': each(
    'Agent Checkpoint Resume Sweep',
    'dynamodb:BatchGetItem on Table',
  ),
  'Signals that came before their run are taken up, and approvals that end leave inboxes.': each(
    'Agent Checkpoint Notify Resume',
    'dynamodb:DeleteItem on Table',
  ),
  'A claim, too, may store what is too large for a record.': each('Resume Sweep', 'kms:GenerateDataKey on KeyAtRest'),
  'An agent may start the run of another, under a key of its own.': each('Agent', 'kms:Encrypt on RunKey'),
  'DynamoDB may ask for them in the name of who writes; the gateway here only for the key that opens.': each(
    'Agent Api Checkpoint Notify Resume Sweep',
    ...['DescribeKey', 'Encrypt', 'ReEncryptFrom', 'ReEncryptTo'].map((action) => `kms:${action} on KeyAtRest`),
  ),
  'DynamoDB may ask for it in the name of who reads.': each('Gauge', 'kms:DescribeKey on KeyAtRest'),
  'CDK gives them with the permission to send.': each(
    'Notify Resume',
    'sqs:GetQueueAttributes on DeadLetters',
    'sqs:GetQueueUrl on DeadLetters',
  ),
  'Lambda puts what failed too often there, as it does for the others.': each(
    'Notify',
    'sqs:SendMessage on DeadLetters',
  ),
  'Routes that others than these use in the stories.': [
    ...each('Operator', 'execute-api:Invoke on Http/*/*/console', 'execute-api:Invoke on Http/*/*/console/*'),
    ...each('Portal', 'execute-api:Invoke on Http/*/GET/api/me'),
    ...each('Viewer', 'execute-api:Invoke on Http/*/GET/console'),
  ],
};

/** After all stories: what roles are allowed, and nobody needed. */
export function permissions(): void {
  describe('the roles', () => {
    it('allow nothing that no story uses and nobody can explain', () => {
      expect(unused(accounts())).toEqual(Object.values(EXPLAINED).flat().sort());
    });

    it('were asked for nothing that they do not allow, but where a story says so', () => {
      const refused = accounts().flatMap(({ calls, deployed }) =>
        calls.flatMap(({ by, isAllowed }) => (isAllowed ? [] : [`${deployed.place.name.split('-')[0]} ${by}`])),
      );
      expect(new Set(refused)).toEqual(
        new Set([
          ...['tenants Agent-orders', 'tenants Checkpoint', 'tenants Checkpoint-acme'],
          ...['plain Api', 'plain Resume', 'plain Agent-orders', 'plain Notify'],
        ]),
      );
    });
  });
}
