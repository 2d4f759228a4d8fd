export { type KmsKeysOptions, kmsKeys } from './checkpoints/encryption/kms-keys.ts';
