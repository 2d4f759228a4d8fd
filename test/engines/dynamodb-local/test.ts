// Runs the tests of everything that depends on DynamoDB's behaviour on Amazon's DynamoDB Local, where Java and Maven are
// installed. Elsewhere it only says what is missing.
import { startVitest } from 'vitest/node';
import { NotAvailableError } from '../../not-available.ts';
import type { Engine } from '../engine-processes.ts';
import { startDynamoLocal } from './engine.ts';

const FILES = [
  'test/storage/dynamodb.test.ts',
  'test/checkpoints/checkpoint-store.dynamodb.test.ts',
  'test/runtime/approvals/approvals.dynamodb.test.ts',
  'test/runtime/transact.test.ts',
  'test/examples/table.test.ts',
  'test/handlers/stream-filters.test.ts',
];

const engine = await startDynamoLocal().catch((error): Engine | undefined => {
  if (!(error instanceof NotAvailableError)) throw error;
  console.log(`SKIPPED: the tests on DynamoDB Local. ${error.message}`);
  return undefined;
});
if (engine) {
  process.env.DYNAMODB_ENDPOINT = engine.endpoint;
  // Sets the exit code when a test fails.
  const vitest = await startVitest('test', FILES, { run: true, project: ['main'] });
  await vitest.close();
  await engine.stop();
}
