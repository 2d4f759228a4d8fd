import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { type Engine, startDynamo, startS3 } from './engine-processes.ts';
import type { EngineAt } from './engines.ts';

/**
 * Starts the engines of a test run. DYNAMODB_ENDPOINT and S3_ENDPOINT select other ones, with the credentials and region
 * of the environment. There, DYNAMODB_TABLE and S3_BUCKET limit the tests to one existing table and bucket; otherwise the
 * tables and buckets that tests create, named waitstate-test-…, are not removed.
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
      // Only the tests that need this engine fail, each with this message.
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
