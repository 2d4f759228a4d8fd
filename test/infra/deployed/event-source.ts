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

/** What Lambda needs to read a stream for a function. */
export interface EventSource {
  readonly function: string;
  readonly stream: string;
  readonly deadLetters: string | undefined;
  /**
   * Hands records to a function, in batches of those that fit the filters; what it reports as failed is tried again, and
   * `gaveUp` gets what failed too often.
   */
  deliver(
    records: readonly StreamRecord[],
    invoke: (event: {
      readonly Records: readonly object[];
    }) => Promise<{ readonly result?: unknown; readonly error?: unknown }>,
    gaveUp: (record: StreamRecord) => void,
  ): Promise<void>;
}

/** The event source mappings of a template. */
export const eventSourcesOf = (deployed: Deployed): readonly EventSource[] =>
  allOf<Properties>(deployed, 'AWS::Lambda::EventSourceMapping').map(({ properties }) => {
    const { FunctionName, EventSourceArn, BatchSize, FilterCriteria, MaximumRetryAttempts } = properties;
    const patterns = FilterCriteria?.Filters.map(({ Pattern }): object => JSON.parse(Pattern));
    const isReporting = properties.FunctionResponseTypes?.includes('ReportBatchItemFailures');
    return {
      ...{ function: FunctionName, stream: EventSourceArn },
      deadLetters: properties.DestinationConfig?.OnFailure.Destination,
      async deliver(records, invoke, gaveUp) {
        const fitting = patterns ? records.filter(matching(patterns)) : records;
        for (let start = 0; start < fitting.length; start += BatchSize) {
          let left = fitting.slice(start, start + BatchSize);
          for (let tries = 0; left.length > 0; tries++) {
            const Records = left.map((record) => ({ ...record, eventSourceARN: EventSourceArn }));
            const { result, error } = await invoke({ Records });
            const failed = error || !isReporting ? left.slice(0, error ? 1 : 0) : failedOf(left, result);
            if (failed.length === 0) break;
            // From the first that failed on everything comes again, as the order of a stream demands.
            left = left.slice(left.indexOf(failed[0] as StreamRecord));
            if (tries < MaximumRetryAttempts) continue;
            for (const record of failed) gaveUp(record);
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
