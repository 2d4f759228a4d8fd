import type { KMSClient } from '@aws-sdk/client-kms';
import type { KeyContext, KeyRing } from './checkpoints/keys.ts';
import { HoldpointError } from './core/errors.ts';
import { installed } from './storage/installed.ts';

export interface KmsKeysOptions {
  /** The key that wraps: an id, ARN or alias. Keys that wrapped before stay readable as long as KMS has them. */
  readonly keyId: string;
  /** @default made when first needed */
  readonly client?: Pick<KMSClient, 'send'>;
}

/**
 * A key ring in AWS KMS. Tenant, run and owner are the encryption context, so that a key policy can let only an owner's role decrypt
 * (`kms:EncryptionContext:owner`).
 */
export function kmsKeys(options: KmsKeysOptions): KeyRing {
  let client = options.client;
  const load = async () => {
    const sdk = await installed('@aws-sdk/client-kms', () => import('@aws-sdk/client-kms'));
    client ??= new sdk.KMSClient({});
    return { sdk, client };
  };
  return {
    async wrap(key, context) {
      const { sdk, client } = await load();
      const command = new sdk.EncryptCommand({
        KeyId: options.keyId,
        Plaintext: key,
        EncryptionContext: contextOf(context),
      });
      const { CiphertextBlob, KeyId } = await answered('kms:Encrypt', options.keyId, () => client.send(command));
      return { by: KeyId ?? options.keyId, wrapped: Buffer.from(CiphertextBlob ?? []).toString('base64') };
    },
    async unwrap({ by, wrapped }, context) {
      const { sdk, client } = await load();
      const command = new sdk.DecryptCommand({
        KeyId: by,
        CiphertextBlob: Buffer.from(wrapped, 'base64'),
        EncryptionContext: contextOf(context),
      });
      const { Plaintext } = await answered('kms:Decrypt', by, () => client.send(command));
      if (Plaintext?.length !== 32)
        throw new HoldpointError('KEY_UNAVAILABLE', `KMS key ${by} answered with something that is not a data key.`);
      return Plaintext;
    },
  };
}

// KMS refuses empty values in an encryption context.
const contextOf = ({ tenant, run, owner }: KeyContext): Record<string, string> => ({
  tenant,
  run,
  ...(owner && { owner }),
});

async function answered<T>(action: string, keyId: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    const name = cause instanceof Error ? cause.name : String(cause);
    throw new HoldpointError(
      'KEY_UNAVAILABLE',
      `KMS refused ${action} with key ${keyId} (${name}). The role needs that permission for this tenant and owner.`,
      {
        cause,
      },
    );
  }
}
