import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { type Engine, startDynamo, startS3 } from './engine-processes.ts';
import type { EngineAt } from './engines.ts';

/**
 * Starts the engines of a test run. DYNAMODB_ENDPOINT and S3_ENDPOINT name others, with the credentials and the region
 * of the environment; DYNAMODB_TABLE and S3_BUCKET then keep the tests to one table and bucket, made beforehand.
 * Otherwise the tables and buckets that tests make there, all named waitstate-test-…, stay.
 */
export default async function start(project: TestProject): Promise<() => Promise<void>> {
  const engines: Engine[] = [];
  const at = async (given: string | undefined, begin: () => Promise<Engine>): Promise<EngineAt> => {
    if (given) return { endpoint: given };
    try {
      const engine = await begin();
      engines.push(engine);
      return { endpoint: engine.endpoint };
    } catch (error) {
      // Only the tests that need it fail, each with this.
      return { missing: error instanceof Error ? error.message : String(error) };
    }
  };
  project.provide('testRun', `waitstate-test-${randomBytes(4).toString('hex')}`);
  project.provide('dynamodb', await at(process.env.DYNAMODB_ENDPOINT, startDynamo));
  project.provide('s3', await at(process.env.S3_ENDPOINT, startS3));
  return async () => {
    await Promise.all(engines.map((engine) => engine.stop()));
  };
}
