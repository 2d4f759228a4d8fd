import { type Doc, loadCheckpoint, type RunContext } from '../../checkpoints/engine.ts';
import { isStorageError, isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { rawEntries } from '../journal/append-entries.ts';

/** What identifies a request to start a run: the hash of its idempotency key, and that of everything else. */
export interface StartRequest {
  readonly key: string;
  readonly body: string;
}

/**
 * Throws IDEMPOTENCY_KEY_REUSED if a run was started with the same key by another request. It reads the first
 * checkpoint; if that was pruned or cannot be read here, nothing is compared.
 */
export async function checkSameRequest(at: RunContext, { key, body }: StartRequest): Promise<void> {
  const first = await readRequest(at);
  if (first?.key !== key || first.body === body) return;
  throw new WaitstateError(
    'IDEMPOTENCY_KEY_REUSED',
    'This idempotency key was used before to start a run with another request: another agent, input or option, or another caller. Nothing was started. Repeat the first request unchanged, or use a new key.',
  );
}

async function readRequest(at: RunContext): Promise<StartRequest | undefined> {
  try {
    const [, entry] = rawEntries(await loadCheckpoint(at, 1)).find(([id]) => id === '@input') ?? [];
    return entry?.request as (StartRequest & Doc) | undefined;
  } catch (error) {
    if (!isWaitstateError(error) || isStorageError(error)) throw error;
    return undefined;
  }
}
