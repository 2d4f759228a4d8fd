import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { inputOf, json, jsonError, operationOf, type Service } from './service.ts';

interface Input {
  readonly KeyId: string;
  readonly Plaintext: string;
  readonly CiphertextBlob: string;
  readonly EncryptionContext?: Readonly<Record<string, string>>;
}

/** A fake KMS: keys in memory by ARN, which encrypt with AES-256-GCM and bind the encryption context. */
export function kms(arns: readonly string[]): Service {
  const keys = new Map(arns.map((arn) => [arn, randomBytes(32)]));
  const arnOf = (id: string): string => arns.find((arn) => arn === id || arn.endsWith(`/${id}`)) ?? id;
  const bound = (context: Input['EncryptionContext'] = {}) =>
    Buffer.from(JSON.stringify(Object.entries(context).sort()));

  return {
    wanted(call) {
      const { KeyId, EncryptionContext = {} } = inputOf<Input>(call);
      const context = Object.entries(EncryptionContext).map(([key, value]) => [
        `kms:EncryptionContext:${key}`,
        [value],
      ]);
      return [{ action: `kms:${operationOf(call)}`, resource: arnOf(KeyId), context: Object.fromEntries(context) }];
    },
    async respond(call) {
      const { KeyId, Plaintext, CiphertextBlob, EncryptionContext } = inputOf<Input>(call);
      const arn = arnOf(KeyId);
      const key = keys.get(arn);
      if (!key) return jsonError('NotFoundException', `Key ${arn} does not exist`);
      if (operationOf(call) === 'Encrypt') {
        const iv = randomBytes(12);
        const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(bound(EncryptionContext));
        const ciphertext = Buffer.concat([cipher.update(Plaintext, 'base64'), cipher.final()]);
        return json({
          KeyId: arn,
          CiphertextBlob: Buffer.concat([iv, cipher.getAuthTag(), ciphertext]).toString('base64'),
        });
      }
      if (operationOf(call) !== 'Decrypt') throw new Error(`KMS ${operationOf(call)} is not implemented.`);
      const blob = Buffer.from(CiphertextBlob, 'base64');
      const decipher = createDecipheriv('aes-256-gcm', key, blob.subarray(0, 12)).setAAD(bound(EncryptionContext));
      decipher.setAuthTag(blob.subarray(12, 28));
      try {
        const plaintext = Buffer.concat([decipher.update(blob.subarray(28)), decipher.final()]);
        return json({ KeyId: arn, Plaintext: plaintext.toString('base64') });
      } catch {
        return jsonError('InvalidCiphertextException', 'The ciphertext does not belong to this key and context');
      }
    },
    denied: (message) => jsonError('AccessDeniedException', message),
  };
}
