import { DecryptCommand, EncryptCommand, KMSClient } from '@aws-sdk/client-kms';
import { mockClient } from 'aws-sdk-client-mock';
import { describe, expect, test } from 'vitest';
import type { KeyContext } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { kmsKeys } from '../../lambda/checkpoints/encryption/kms-keys.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { storesOn } from '../contract/checkpoint-store/stores.ts';
import { awsError } from '../storage/failing-client.ts';

const context: KeyContext = { tenant: 't', run: 'r', owner: 'o' };
const dataKey = new Uint8Array(32).fill(7);

/** A KMS that binds what it encrypts to the key and the context, as the real one does. */
function fakeKms() {
  const client = new KMSClient({ region: 'eu-central-1' });
  const mock = mockClient(client);
  const sealed = (input: { KeyId?: string | undefined; EncryptionContext?: Record<string, string> | undefined }) =>
    `${input.KeyId} ${JSON.stringify(Object.entries(input.EncryptionContext ?? {}).toSorted())} `;
  mock.on(EncryptCommand).callsFake((input) => ({
    KeyId: input.KeyId,
    CiphertextBlob: Buffer.concat([Buffer.from(sealed(input)), input.Plaintext]),
  }));
  mock.on(DecryptCommand).callsFake((input) => {
    const blob = Buffer.from(input.CiphertextBlob);
    if (!blob.subarray(0, -32).equals(Buffer.from(sealed(input)))) throw awsError('InvalidCiphertextException');
    return { Plaintext: Uint8Array.from(blob.subarray(-32)), KeyId: input.KeyId };
  });
  return { client, mock };
}

describe('a key ring in KMS', () => {
  test('wraps and unwraps a data key under the encryption context', async () => {
    const { client, mock } = fakeKms();
    const keys = kmsKeys({ keyId: 'alias/runs', client });
    const wrapped = await keys.wrap(dataKey, context);
    expect(wrapped.keyId).toBe('alias/runs');
    expect(await keys.unwrap(wrapped, context)).toEqual(dataKey);
    const contexts = mock.calls().map((call) => call.args[0].input);
    expect(contexts).toMatchObject([
      { KeyId: 'alias/runs', EncryptionContext: { tenant: 't', run: 'r', owner: 'o' } },
      { KeyId: 'alias/runs', EncryptionContext: { tenant: 't', run: 'r', owner: 'o' } },
    ]);
  });

  test('stores the key that KMS used, and unwraps with that key', async () => {
    const { client, mock } = fakeKms();
    const arn = 'arn:aws:kms:eu-central-1:1:key/k';
    mock.on(EncryptCommand).resolves({ KeyId: arn, CiphertextBlob: Buffer.from('blob') });
    const wrapped = await kmsKeys({ keyId: 'alias/runs', client }).wrap(dataKey, context);
    expect(wrapped).toEqual({ keyId: arn, ciphertext: Buffer.from('blob').toString('base64') });
    mock.on(DecryptCommand).resolves({ Plaintext: dataKey });
    await kmsKeys({ keyId: 'alias/newer', client }).unwrap(wrapped, context);
    expect(mock.commandCalls(DecryptCommand)[0]?.args[0].input.KeyId).toBe(arn);
  });

  test('omits a missing owner, because KMS rejects empty values', async () => {
    const { client, mock } = fakeKms();
    await kmsKeys({ keyId: 'k', client }).wrap(dataKey, { ...context, owner: '' });
    expect(mock.commandCalls(EncryptCommand)[0]?.args[0].input.EncryptionContext).toEqual({ tenant: 't', run: 'r' });
  });

  test.each([
    'AccessDeniedException',
    'InvalidCiphertextException',
    'IncorrectKeyException',
    'NotFoundException',
    'DisabledException',
    'KMSInvalidStateException',
  ])('throws KEY_UNAVAILABLE when KMS responds with %s', async (name) => {
    const { client, mock } = fakeKms();
    const refusal = awsError(name);
    mock.on(DecryptCommand).rejects(refusal);
    mock.on(EncryptCommand).rejects(refusal);
    const keys = kmsKeys({ keyId: 'alias/runs', client });
    for (const [use, action] of [
      [keys.unwrap({ keyId: 'alias/runs', ciphertext: 'YQ==' }, context), 'kms:Decrypt'],
      [keys.wrap(dataKey, context), 'kms:Encrypt'],
    ] as const) {
      const error = await use.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ name: 'WaitstateError', code: 'KEY_UNAVAILABLE' });
      expect(String(error)).toContain('alias/runs');
      if (name === 'AccessDeniedException') expect(String(error)).toContain(action);
    }
    expect(mock.calls()).toHaveLength(2);
  });

  test('retries when KMS throttles', async () => {
    const { client, mock } = fakeKms();
    mock.on(DecryptCommand).rejectsOnce(awsError('ThrottlingException')).resolves({ Plaintext: dataKey });
    const keys = kmsKeys({ keyId: 'k', client });
    expect(await keys.unwrap({ keyId: 'k', ciphertext: 'YQ==' }, context)).toEqual(dataKey);
    expect(mock.calls()).toHaveLength(2);
  });

  test.each([undefined, new Uint8Array(), new Uint8Array(16)])('rejects %o as a data key', async (Plaintext) => {
    const { client, mock } = fakeKms();
    mock.on(DecryptCommand).resolves({ Plaintext });
    const unwrapped = kmsKeys({ keyId: 'k', client }).unwrap({ keyId: 'k', ciphertext: 'YQ==' }, context);
    await expect(unwrapped).rejects.toMatchObject({ code: 'KEY_UNAVAILABLE' });
  });

  test('rejects a run that names a key which is not trusted, without asking KMS', async () => {
    const { client, mock } = fakeKms();
    const keys = kmsKeys({ keyId: 'k', trustedKeys: ['k', 'previous'], client });
    await expect(keys.unwrap({ keyId: 'foreign', ciphertext: 'YQ==' }, context)).rejects.toMatchObject({
      code: 'KEY_UNAVAILABLE',
      message: expect.stringContaining('trustedKeys'),
    });
    expect(mock.calls()).toEqual([]);
    mock.on(DecryptCommand).resolves({ Plaintext: dataKey });
    expect(await keys.unwrap({ keyId: 'previous', ciphertext: 'YQ==' }, context)).toEqual(dataKey);
  });

  test('rejects an empty wrapped key, which nobody could unwrap', async () => {
    const { client, mock } = fakeKms();
    mock.on(EncryptCommand).resolves({ CiphertextBlob: new Uint8Array() });
    await expect(kmsKeys({ keyId: 'k', client }).wrap(dataKey, context)).rejects.toMatchObject({
      code: 'KEY_UNAVAILABLE',
    });
  });
});

describe('a store whose keys are in KMS', () => {
  test('binds each run to its tenant, its id and its owner', async () => {
    const { client, mock } = fakeKms();
    const { store, run, tenant, stored } = storesOn(memoryStorage());
    const keys = kmsKeys({ keyId: 'k', client });
    const saver = store({ keys });
    await saver.save({ run, state: 'secret', owner: 'ada' });
    expect(mock.commandCalls(EncryptCommand)[0]?.args[0].input.EncryptionContext).toEqual({
      tenant,
      run,
      owner: 'ada',
    });
    await saver.save({ run, owner: 'bob' });
    expect(mock.commandCalls(EncryptCommand)[1]?.args[0].input.EncryptionContext).toEqual({
      tenant,
      run,
      owner: 'bob',
    });
    expect(await store({ keys }).load(run)).toMatchObject({ version: 2, state: 'secret' });
    expect(mock.commandCalls(DecryptCommand).at(-1)?.args[0].input.EncryptionContext).toEqual({
      tenant,
      run,
      owner: 'bob',
    });
    await stored().alterHead({ owner: 'eve' });
    await expect(store({ keys }).load(run)).rejects.toMatchObject({ code: 'KEY_UNAVAILABLE' });
  });

  test('calls KMS once per run and process, not once per step', async () => {
    const { client, mock } = fakeKms();
    const { store, run } = storesOn(memoryStorage());
    const saver = store({ keys: kmsKeys({ keyId: 'k', client }) });
    for (let n = 0; n < 5; n++) await saver.save({ run, state: n });
    await saver.load(run);
    expect(mock.calls()).toHaveLength(1);
  });

  test('creates no run when it is not allowed to encrypt', async () => {
    const { client, mock } = fakeKms();
    mock.on(EncryptCommand).rejects(awsError('AccessDeniedException'));
    const { store, run, stored } = storesOn(memoryStorage());
    const saved = store({ keys: kmsKeys({ keyId: 'k', client }) }).save({ run, state: 1 });
    await expect(saved).rejects.toMatchObject({ code: 'KEY_UNAVAILABLE' });
    expect(await stored().records()).toEqual([]);
  });
});
