import { describe, expect, it } from 'vitest';
import { accounts } from '../scene.ts';
import { unused } from '../usage.ts';

const each = (roles: string, ...permissions: string[]): readonly string[] =>
  roles.split(' ').flatMap((role) => permissions.map((permission) => `${role}: ${permission}`));

/** The permissions that no story uses, with the reason why roles have them. */
const EXPLAINED: Readonly<Record<string, readonly string[]>> = {
  'A multipart upload, above 8 MB, is aborted when a part fails.': each(
    'Agent Api Checkpoint Resume Sweep',
    's3:AbortMultipartUpload on Bucket/…',
  ),
  'Without it S3 does not distinguish a missing payload from a denied one.': each(
    'Agent Checkpoint Notify Resume',
    's3:ListBucket on Bucket',
  ),
  'Checkpoints are loaded by name, and several approvals of a run are read at once.': each(
    'Checkpoint Resume',
    'dynamodb:BatchGetItem on Table',
  ),
  'Signals that arrived before their run are consumed, and ended approvals leave the inboxes.': each(
    'Agent Checkpoint Notify Resume',
    'dynamodb:DeleteItem on Table',
  ),
  'The ledger of the example reads an entry that it finds recorded, as after a crash.': each(
    'Agent',
    'dynamodb:GetItem on ExamplesTable',
  ),
  'A claim may also store content that is too large for a record.': each(
    'Resume Sweep',
    'kms:GenerateDataKey on KeyAtRest',
  ),
  'An agent may start a child run, which has its own key.': each('Agent', 'kms:Encrypt on RunKey'),
  'DynamoDB may use them on behalf of a writer; the gateway of these tests only checks Decrypt.': each(
    'Administrator Agent Api Checkpoint Notify Resume Sweep',
    ...['DescribeKey', 'Encrypt', 'ReEncryptFrom', 'ReEncryptTo'].map((action) => `kms:${action} on KeyAtRest`),
  ),
  'DynamoDB may use it on behalf of a reader.': each('Gauge', 'kms:DescribeKey on KeyAtRest'),
  'CDK grants them together with the permission to send.': each(
    'Notify Resume',
    'sqs:GetQueueAttributes on DeadLetters',
    'sqs:GetQueueUrl on DeadLetters',
  ),
  'Other roles use these routes in the stories.': [
    ...each('Operator', 'execute-api:Invoke on Http/*/*/console', 'execute-api:Invoke on Http/*/*/console/*'),
    ...each('Portal', 'execute-api:Invoke on Http/*/GET/api/me'),
    ...each('Portal', 'execute-api:Invoke on Http/*/GET/api/runs/*/approvals/*/payloads/*'),
    ...each(
      'Portal',
      'execute-api:Invoke on Http/*/GET/api/delegations',
      'execute-api:Invoke on Http/*/POST/api/delegations',
      'execute-api:Invoke on Http/*/POST/api/delegations/*/end',
    ),
    ...each('Portal', 'execute-api:Invoke on Http/*/POST/api/approvals/decide'),
    ...each('Viewer', 'execute-api:Invoke on Http/*/GET/console'),
  ],
};

/** After all stories: roles have no unnecessary permissions. */
export function permissions(): void {
  describe('the roles', () => {
    it('have no unused permission without a reason', () => {
      expect(unused(accounts())).toEqual(Object.values(EXPLAINED).flat().sort());
    });

    it('denied requests only where a story expects it', () => {
      const denied = accounts().flatMap(({ calls, deployed }) =>
        calls.flatMap(({ by, isAllowed }) => (isAllowed ? [] : [`${deployed.target.name.split('-')[0]} ${by}`])),
      );
      expect(new Set(denied)).toEqual(
        new Set([
          'tenants Administrator-acme',
          'tenants Agent-orders',
          'tenants Checkpoint',
          'tenants Checkpoint-acme',
          'plain Api',
          'plain Resume',
          'plain Agent-orders',
          'plain Notify',
        ]),
      );
    });
  });
}
