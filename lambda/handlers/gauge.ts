import { dynamoRecordStore } from '../storage/dynamodb/dynamo-records.ts';
import { createGaugeHandler } from './factories/create-gauge-handler.ts';
import { lazyHandler } from './lazy-handler.ts';
import { powertoolsTelemetry } from './powertools.ts';

export type { Gauge } from '../runtime/telemetry.ts';

/** Counts runs and measures how long they wait, on a schedule. */
export const handler = lazyHandler('gauge', (environment) =>
  createGaugeHandler({
    records: dynamoRecordStore({ table: environment.table }),
    tenants: environment.tenants ?? ['default'],
    telemetry: powertoolsTelemetry('gauge', environment),
  }),
);
