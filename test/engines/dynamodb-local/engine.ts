import { join } from 'node:path';
import { type Engine, startServer } from '../engine-processes.ts';
import { fetchDynamoLocal } from './fetch.ts';

const MAIN = 'software.amazon.dynamodb.services.local.main.ServerRunner';

/** Starts Amazon's DynamoDB Local, in memory, in its own process; throws a NotAvailableError where it cannot run. */
export async function startDynamoLocal(): Promise<Engine> {
  const folder = fetchDynamoLocal();
  return startServer('java', (port) => [
    // It runs for a minute, so it spends less time on optimizing its code.
    ...['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', `-Djava.library.path=${folder}`],
    ...['-classpath', join(folder, '*'), MAIN, '-inMemory', '-disableTelemetry', '-port', port],
  ]);
}
