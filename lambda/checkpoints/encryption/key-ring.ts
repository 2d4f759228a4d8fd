import { WaitstateError } from '../../core/errors.ts';
import { decryptBytes, encryptBytes } from './aes-gcm.ts';

/** A run's data key as it is stored: encrypted (wrapped) with the key that `keyId` names. */
export interface WrappedKey {
  readonly keyId: string;
  /** The wrapped data key, in base64. */
  readonly ciphertext: string;
}

/** What a data key is bound to; with KMS, the encryption context that a key policy can require. */
export type KeyContext = Readonly<Record<'tenant' | 'run' | 'owner', string>>;

/** Wraps and unwraps the data keys of runs. Keys that no longer wrap must still unwrap. */
export interface KeyRing {
  wrap(key: Uint8Array, context: KeyContext): Promise<WrappedKey>;
  /** Throws KEY_UNAVAILABLE when the wrapping key is missing or does not match. */
  unwrap(wrapped: WrappedKey, context: KeyContext): Promise<Uint8Array>;
}

/** A key ring in this process: 32-byte keys by name. The `current` key wraps, and all keys unwrap. */
export function localKeys(options: { current: string; keys: Readonly<Record<string, Uint8Array | string>> }): KeyRing {
  const keys = new Map<string, Uint8Array>();
  for (const [name, key] of Object.entries(options.keys)) {
    // Copied, because the caller may clear its own.
    const bytes = typeof key === 'string' ? Buffer.from(key, 'base64') : Uint8Array.from(key);
    if (bytes.length !== 32) {
      throw new WaitstateError(
        'INVALID_INPUT',
        `Key "${name}" must be 32 bytes, or their base64; found ${bytes.length} bytes. Create one with: openssl rand -base64 32`,
      );
    }
    keys.set(name, bytes);
  }
  const current = keys.get(options.current);
  if (!current) {
    throw new WaitstateError(
      'INVALID_INPUT',
      `The current key "${options.current}" must be one of \`keys\`; found ${[...keys.keys()].join(', ')}.`,
    );
  }
  return {
    async wrap(key, context) {
      return {
        keyId: options.current,
        ciphertext: Buffer.from(encryptBytes(current, key, contextText(context))).toString('base64'),
      };
    },
    async unwrap(wrapped, context) {
      const key = keys.get(wrapped.keyId);
      if (!key) {
        const have = [...keys.keys()].join(', ');
        throw new WaitstateError(
          'KEY_UNAVAILABLE',
          `The data key of run "${context.run}" is wrapped by key "${wrapped.keyId}", but this store has: ${have}. Add it to \`keys\`.`,
        );
      }
      try {
        return decryptBytes(key, Buffer.from(wrapped.ciphertext, 'base64'), contextText(context));
      } catch (cause) {
        throw new WaitstateError(
          'KEY_UNAVAILABLE',
          `Key "${wrapped.keyId}" cannot unwrap the data key of run "${context.run}": it is a different key with the same name, or the run's head was changed.`,
          { cause, scope: 'run' },
        );
      }
    },
  };
}

const contextText = (context: KeyContext): string => JSON.stringify([context.tenant, context.run, context.owner]);
