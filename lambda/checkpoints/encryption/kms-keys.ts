import type { KMSClient } from '@aws-sdk/client-kms';
import { WaitstateError } from '../../core/errors.ts';
import { createAwsCall } from '../../storage/aws/aws-calls.ts';
import { importOptionalPeer } from '../../storage/aws/import-optional-peer.ts';
import type { KeyContext, KeyRing } from './key-ring.ts';

export interface KmsKeysOptions {
  /** The KMS key that wraps: an id, ARN or alias. Runs wrapped by earlier keys load as long as KMS has those keys. */
  readonly keyId: string;
  /**
   * The ARNs of all keys that may have wrapped a run; a run that names another key is rejected. Otherwise a writer to
   * the table could name its own key.
   * @default any key that the role may use for `kms:Decrypt`
   */
  readonly trustedKeys?: readonly string[];
  /** Your own client. @default a client that is created on first use */
  readonly client?: KmsClient;
}

type KmsClient = Pick<KMSClient, 'send' | 'config'>;

/**
 * A key ring in AWS KMS. The encryption context has tenant, run and owner, so a key policy can restrict decryption to
 * the owner's role (`kms:EncryptionContext:owner`).
 */
export function kmsKeys({ keyId, trustedKeys, client }: KmsKeysOptions): KeyRing {
  const load = async () => {
    const sdk = await importOptionalPeer('@aws-sdk/client-kms', () => import('@aws-sdk/client-kms'));
    client ??= new sdk.KMSClient({});
    return { sdk, call: createAwsCall(() => client as KmsClient, {}) };
  };
  const callInfo = (key: string, action: string) => ({ resource: `KMS key "${key}"`, actions: [action] });
  return {
    async wrap(key, context) {
      const { sdk, call } = await load();
      const input = { KeyId: keyId, Plaintext: key, EncryptionContext: toEncryptionContext(context) };
      const response = await toKeyUnavailable(
        call(callInfo(keyId, 'kms:Encrypt'), (kms) => kms.send(new sdk.EncryptCommand(input))),
      );
      if (!response.CiphertextBlob?.length) throw invalidDataKey(keyId);
      return { keyId: response.KeyId ?? keyId, ciphertext: Buffer.from(response.CiphertextBlob).toString('base64') };
    },
    async unwrap({ keyId: wrappingKey, ciphertext }, context) {
      if (trustedKeys && !trustedKeys.includes(wrappingKey)) {
        throw new WaitstateError(
          'KEY_UNAVAILABLE',
          `Run "${context.run}" names KMS key "${wrappingKey}", which is not in \`trustedKeys\`. Add its ARN if you trust this key.`,
        );
      }
      const { sdk, call } = await load();
      const input = {
        KeyId: wrappingKey,
        CiphertextBlob: Buffer.from(ciphertext, 'base64'),
        EncryptionContext: toEncryptionContext(context),
      };
      const response = await toKeyUnavailable(
        call(callInfo(wrappingKey, 'kms:Decrypt'), (kms) => kms.send(new sdk.DecryptCommand(input))),
      );
      if (response.Plaintext?.length !== 32) throw invalidDataKey(wrappingKey);
      return response.Plaintext;
    },
  };
}

// KMS rejects empty values in an encryption context.
const toEncryptionContext = ({ tenant, run, owner }: KeyContext): Record<string, string> => ({
  tenant,
  run,
  ...(owner && { owner }),
});

/** Converts errors of KMS to KEY_UNAVAILABLE, except when KMS itself is unavailable. */
async function toKeyUnavailable<T>(response: Promise<T>): Promise<T> {
  try {
    return await response;
  } catch (cause) {
    if (!(cause instanceof WaitstateError) || cause.code === 'STORAGE_UNAVAILABLE') throw cause;
    throw new WaitstateError('KEY_UNAVAILABLE', cause.message, { cause });
  }
}

const invalidDataKey = (key: string): WaitstateError =>
  new WaitstateError('KEY_UNAVAILABLE', `KMS key "${key}" returned something that is not a data key.`);
