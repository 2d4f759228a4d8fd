import type { StreamRecord } from '../../../lambda/handlers/stream-records.ts';
import { matching } from '../../engines/matching.ts';
import { allOf, type Deployed } from './resolve.ts';

interface Properties {
  readonly FunctionName: string;
  readonly EventSourceArn: string;
  readonly BatchSize: number;
  readonly FilterCriteria?: { readonly Filters: readonly { readonly Pattern: string }[] };
  readonly FunctionResponseTypes?: readonly string[];
  readonly MaximumRetryAttempts: number;
  readonly DestinationConfig?: { readonly OnFailure: { readonly Destination: string } };
}

/** An event source mapping of a stream and a function. */
export interface EventSource {
  readonly function: string;
  readonly stream: string;
  readonly deadLetters: string | undefined;
  /**
   * Delivers filtered records to a function in batches. Records that it reports as failed are retried, and `onGiveUp`
   * receives those that fail after all retries.
   */
  deliver(
    records: readonly StreamRecord[],
    invoke: (event: {
      readonly Records: readonly object[];
    }) => Promise<{ readonly result?: unknown; readonly error?: unknown }>,
    onGiveUp: (record: StreamRecord) => void,
  ): Promise<void>;
}

/** The event source mappings of a template. */
export const eventSourcesOf = (deployed: Deployed): readonly EventSource[] =>
  allOf<Properties>(deployed, 'AWS::Lambda::EventSourceMapping').map(({ properties }) => {
    const { FunctionName, EventSourceArn, BatchSize, FilterCriteria, MaximumRetryAttempts } = properties;
    const patterns = FilterCriteria?.Filters.map(({ Pattern }): object => JSON.parse(Pattern));
    const isReporting = properties.FunctionResponseTypes?.includes('ReportBatchItemFailures');
    return {
      function: FunctionName,
      stream: EventSourceArn,
      deadLetters: properties.DestinationConfig?.OnFailure.Destination,
      async deliver(records, invoke, onGiveUp) {
        const fitting = patterns ? records.filter(matching(patterns)) : records;
        for (let start = 0; start < fitting.length; start += BatchSize) {
          let left = fitting.slice(start, start + BatchSize);
          for (let tries = 0; left.length > 0; tries++) {
            const Records = left.map((record) => ({ ...record, eventSourceARN: EventSourceArn }));
            const { result, error } = await invoke({ Records });
            const failed = error || !isReporting ? left.slice(0, error ? 1 : 0) : failedOf(left, result);
            if (failed.length === 0) break;
            // The stream keeps its order, so all records from the first failed one on are delivered again.
            left = left.slice(left.indexOf(failed[0] as StreamRecord));
            if (tries < MaximumRetryAttempts) continue;
            for (const record of failed) onGiveUp(record);
            left = left.filter((record) => !failed.includes(record));
            tries = -1;
          }
        }
      },
    };
  });

function failedOf(records: readonly StreamRecord[], result: unknown): readonly StreamRecord[] {
  const { batchItemFailures = [] } = Object(result) as { batchItemFailures?: { itemIdentifier: string }[] };
  return records.filter(({ dynamodb }) =>
    batchItemFailures.some(({ itemIdentifier }) => itemIdentifier === dynamodb?.SequenceNumber),
  );
}
