import type { CancellationReason } from '@aws-sdk/client-dynamodb';
import { errorName, isTransient, toAwsError } from '../aws/classify-aws-error.ts';
import { ConditionFailedError, type StoredRecord, type Write } from '../ports.ts';
import { toRecord } from './items.ts';

/** Returns when an earlier attempt of the commit was applied, and throws otherwise. */
export function throwUnlessApplied(writes: readonly Write[], error: unknown, isRetry: boolean): void {
  const reasons = cancellationReasons(error);
  if (!reasons) throw error;
  const found = new Map<number, StoredRecord | undefined>();
  const otherErrors: Error[] = [];
  for (const [index, { Code = 'None', Message, Item }] of reasons.entries()) {
    if (Code === 'ConditionalCheckFailed') found.set(index, Item?.pk && Item.m && toRecord(Item));
    else if (Code !== 'None') otherErrors.push(toAwsError(Code, Message, error));
  }
  if (isRetry && wasApplied(writes, found)) return;
  // On the first attempt a failed condition is final, even when other items met a transient error: `found` has only
  // failed conditions. On a retry, the item with the transient error may be the one that proves the commit applied.
  const transientError = otherErrors.find(isTransient);
  if (found.size > 0 && !(isRetry && transientError)) throw new ConditionFailedError(found, error);
  throw (
    otherErrors.find((other) => !isTransient(other)) ??
    transientError ??
    toAwsError('TransactionConflict', 'No reason given', error)
  );
}

function cancellationReasons(error: unknown): CancellationReason[] | undefined {
  const { Item, CancellationReasons = [] } = Object(error) as Pick<CancellationReason, 'Item'> & {
    CancellationReasons?: CancellationReason[];
  };
  if (errorName(error) === 'ConditionalCheckFailedException') return [{ Code: 'ConditionalCheckFailed', Item }];
  return errorName(error) === 'TransactionCanceledException' ? CancellationReasons : undefined;
}

// A transaction is all or nothing, so one stored put proves the whole commit. Without puts, every removed record must
// be gone.
function wasApplied(writes: readonly Write[], found: ReadonlyMap<number, StoredRecord | undefined>): boolean {
  if (writes.some((write) => 'put' in write)) {
    return writes.some((write, index) => 'put' in write && found.get(index)?.revision === write.put.revision);
  }
  return writes.every(({ when }, index) => found.get(index) === undefined && found.has(index) === (when !== 'absent'));
}
