import type { StreamRecord } from '../../../lambda/handlers/stream-records.ts';
import { matching } from '../../engines/matching.ts';
import { allOf, type Deployed } from './resolve.ts';

interface Properties {
  readonly FunctionName: string;
  readonly EventSourceArn: string;
  readonly BatchSize: number;
  readonly FilterCriteria?: { readonly Filters: readonly { readonly Pattern: string }[] };
  readonly FunctionResponseTypes?: readonly string[];
  /** Without it, a record is retried until it is too old. */
  readonly MaximumRetryAttempts?: number;
  readonly MaximumRecordAgeInSeconds: number;
  readonly DestinationConfig?: { readonly OnFailure: { readonly Destination: string } };
}

/** An event source mapping of a stream and a function. */
export interface EventSource {
  readonly function: string;
  readonly stream: string;
  readonly deadLetters: string | undefined;
  /** Whether records failed that are not too old to be delivered again. */
  isRetrying(): boolean;
  /**
   * Delivers filtered records to a function in batches. Records that it reports as failed are retried, and `onGiveUp`
   * receives those that fail after all retries, or that are too old at this time.
   */
  deliver(
    records: readonly StreamRecord[],
    now: number,
    invoke: (event: {
      readonly Records: readonly object[];
    }) => Promise<{ readonly result?: unknown; readonly error?: unknown }>,
    onGiveUp: (record: StreamRecord) => void,
  ): Promise<void>;
}

/** The event source mappings of a template. */
export const eventSourcesOf = (deployed: Deployed): readonly EventSource[] =>
  allOf<Properties>(deployed, 'AWS::Lambda::EventSourceMapping').map(({ properties }) => {
    const { FunctionName, EventSourceArn, BatchSize, FilterCriteria } = properties;
    const { MaximumRetryAttempts, MaximumRecordAgeInSeconds } = properties;
    const patterns = FilterCriteria?.Filters.map(({ Pattern }): object => JSON.parse(Pattern));
    const isReporting = properties.FunctionResponseTypes?.includes('ReportBatchItemFailures');
    // The records that wait for a retry, with the time of their first delivery.
    let waiting: readonly { readonly record: StreamRecord; readonly since: number }[] = [];
    return {
      function: FunctionName,
      stream: EventSourceArn,
      deadLetters: properties.DestinationConfig?.OnFailure.Destination,
      isRetrying: () => waiting.length > 0,
      async deliver(records, now, invoke, onGiveUp) {
        const isTooOld = ({ since }: { since: number }) => now - since > MaximumRecordAgeInSeconds * 1000;
        for (const { record } of waiting.filter(isTooOld)) onGiveUp(record);
        const fitting = patterns ? records.filter(matching(patterns)) : records;
        const all = [
          ...waiting.filter((each) => !isTooOld(each)),
          ...fitting.map((record) => ({ record, since: now })),
        ];
        waiting = [];
        for (let start = 0; start < all.length; start += BatchSize) {
          let left = all.slice(start, start + BatchSize);
          for (let tries = 0; left.length > 0; tries++) {
            const Records = left.map(({ record }) => ({ ...record, eventSourceARN: EventSourceArn }));
            const { result, error } = await invoke({ Records });
            const failed =
              error || !isReporting
                ? left.slice(0, error ? 1 : 0)
                : left.filter(({ record }) => isFailed(record, result));
            const [first] = failed;
            if (!first) break;
            // The stream keeps its order, so all records from the first failed one on are delivered again.
            left = left.slice(left.indexOf(first));
            if (MaximumRetryAttempts === undefined) {
              waiting = [...waiting, ...left, ...all.slice(start + BatchSize)];
              return;
            }
            if (tries < MaximumRetryAttempts) continue;
            for (const { record } of failed) onGiveUp(record);
            left = left.filter((each) => !failed.includes(each));
            tries = -1;
          }
        }
      },
    };
  });

function isFailed({ dynamodb }: StreamRecord, result: unknown): boolean {
  const { batchItemFailures = [] } = Object(result) as { batchItemFailures?: { itemIdentifier: string }[] };
  return batchItemFailures.some(({ itemIdentifier }) => itemIdentifier === dynamodb?.SequenceNumber);
}
