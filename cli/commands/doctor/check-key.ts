import { randomBytes } from 'node:crypto';
import { errorSummary, type Finding, fail, ok } from './finding.ts';

/** Checks that the KMS key can wrap and unwrap the key of a run. */
export async function checkKey(keyId: string): Promise<Finding> {
  const { kmsKeys } = await import('../../../lambda/checkpoints/encryption/kms-keys.ts');
  const about = { tenant: 'waitstate-doctor', run: 'none', owner: '' };
  try {
    const ring = kmsKeys({ keyId });
    await ring.unwrap(await ring.wrap(randomBytes(32), about), about);
    return ok('key', keyId);
  } catch (error) {
    return fail(
      'key',
      errorSummary(error),
      'Allow kms:Encrypt and kms:Decrypt on the key; its policy may require a tenant or an owner in the encryption context.',
    );
  }
}
