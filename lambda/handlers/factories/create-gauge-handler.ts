import { isWaitstateError } from '../../core/errors.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { errorFields, type Gauge, type Telemetry } from '../../runtime/telemetry.ts';
import { tenantSafeLists } from '../../storage/decorators/tenant-safe-lists.ts';
import { type GaugeInput, measureGauges } from '../gauges.ts';
import { UNREADABLE_CODES } from '../stream-records.ts';

export interface GaugeHandlerOptions extends Pick<GaugeInput, 'records' | 'tenants'> {
  readonly telemetry: Telemetry;
  readonly clock?: Clock;
}

/**
 * Creates the scheduled handler that counts runs and measures how long the oldest have waited. It only reads indexes.
 */
export const createGaugeHandler =
  ({ records, tenants, telemetry, clock = systemClock }: GaugeHandlerOptions) =>
  (): Promise<Readonly<Record<Gauge, number>>> =>
    telemetry.runInvocation(async () => {
      const tryRead: GaugeInput['tryRead'] = (read, stored) => {
        try {
          return read(stored);
        } catch (error) {
          if (!UNREADABLE_CODES.some((code) => isWaitstateError(error, code))) throw error;
          telemetry.count('MalformedRecord');
          telemetry.log('error', 'A record could not be read and is not counted.', errorFields(error));
          return undefined;
        }
      };
      const measured = await measureGauges({
        records: tenantSafeLists(records),
        tenants,
        now: clock.now(),
        tryRead,
      });
      for (const [gauge, value] of Object.entries(measured)) telemetry.count(gauge as Gauge, value);
      return measured;
    });
