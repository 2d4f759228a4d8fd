import { isWaitstateError } from '../core/errors.ts';
import { type Clock, systemClock } from '../runtime/agent/clock.ts';
import { errorFields, type Gauge, type Observing } from '../runtime/telemetry.ts';
import { trueLists } from '../storage/decorators/tenant-safe-lists.ts';
import { dynamoRecordStore } from '../storage/dynamodb/dynamo-records.ts';
import { type Gauged, gauges } from './gauges.ts';
import { wired } from './lazy-handler.ts';
import { observingOf } from './powertools.ts';
import { UNREADABLE } from './stream-records.ts';

export interface GaugeOptions extends Pick<Gauged, 'records' | 'tenants'> {
  readonly observing: Observing;
  readonly clock?: Clock;
}

/** The function on a schedule that measures what runs there are, and how old the oldest are. It reads, and only lists. */
export const createGauge =
  ({ records, tenants, observing, clock = systemClock }: GaugeOptions) =>
  (): Promise<Readonly<Record<Gauge, number>>> =>
    observing.invocation(async () => {
      const readable: Gauged['readable'] = (read, stored) => {
        try {
          return read(stored);
        } catch (error) {
          if (!UNREADABLE.some((code) => isWaitstateError(error, code))) throw error;
          observing.count('MalformedRecord');
          observing.log('error', 'A record could not be read, so it is not measured.', errorFields(error));
          return undefined;
        }
      };
      const measured = await gauges({ records: trueLists(records), tenants, now: clock.now(), readable });
      for (const [gauge, value] of Object.entries(measured)) observing.count(gauge as Gauge, value);
      return measured;
    });

export const handler = wired('gauge', (environment) =>
  createGauge({
    records: dynamoRecordStore({ table: environment.table }),
    tenants: environment.tenants,
    observing: observingOf('gauge', environment),
  }),
);
