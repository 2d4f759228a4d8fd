import { randomBytes } from 'node:crypto';
import { errorSummary, type Finding, fail, ok } from './finding.ts';
import { PROBE_RUN } from './permissions.ts';

/** Checks that the KMS key can wrap and unwrap the key of a run of a tenant. */
export async function checkKey(keyId: string, tenant: string): Promise<Finding> {
  const { kmsKeys } = await import('../../../lambda/checkpoints/encryption/kms-keys.ts');
  const about = { tenant, run: PROBE_RUN, owner: '' };
  try {
    const ring = kmsKeys({ keyId });
    await ring.unwrap(await ring.wrap(randomBytes(32), about), about);
    return ok('key', keyId);
  } catch (error) {
    return fail(
      'key',
      errorSummary(error),
      'Allow kms:Encrypt and kms:Decrypt on the key; its policy may require another tenant (--tenant) or an owner in the encryption context.',
    );
  }
}
