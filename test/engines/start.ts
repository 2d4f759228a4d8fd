import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { type Engine, startDynamo, startS3 } from './engine-processes.ts';
import type { EngineAt } from './engines.ts';

/** The engines of a test run. */
interface Engines {
  readonly testRun: string;
  readonly dynamodb: EngineAt;
  readonly s3: EngineAt;
  stop(): Promise<void>;
}

// Vitest loads this file once for each project; the projects share the engines.
const shared = globalThis as { engines?: Promise<Engines>; projects?: number };

/**
 * Starts the engines of a test run. DYNAMODB_ENDPOINT and S3_ENDPOINT select other ones, with the credentials and region
 * of the environment. There, DYNAMODB_TABLE and S3_BUCKET limit the tests to one existing table and bucket; otherwise the
 * tables and buckets that tests create, named waitstate-test-…, are not removed.
 */
export default async function start(project: TestProject): Promise<() => Promise<void>> {
  shared.projects = (shared.projects ?? 0) + 1;
  shared.engines ??= startEngines();
  const { testRun, dynamodb, s3, stop } = await shared.engines;
  project.provide('testRun', testRun);
  project.provide('dynamodb', dynamodb);
  project.provide('s3', s3);
  return async () => {
    shared.projects = (shared.projects ?? 1) - 1;
    if (shared.projects === 0) await stop();
  };
}

async function startEngines(): Promise<Engines> {
  const engines: Engine[] = [];
  const at = async (given: string | undefined, begin: () => Promise<Engine>): Promise<EngineAt> => {
    if (given) return { endpoint: given, isOurs: false };
    try {
      const engine = await begin();
      engines.push(engine);
      return { endpoint: engine.endpoint, isOurs: true };
    } catch (error) {
      // Only the tests that need this engine fail, each with this message.
      return { missing: error instanceof Error ? error.message : String(error) };
    }
  };
  return {
    testRun: `waitstate-test-${randomBytes(4).toString('hex')}`,
    dynamodb: await at(process.env.DYNAMODB_ENDPOINT, startDynamo),
    s3: await at(process.env.S3_ENDPOINT, startS3),
    stop: async () => void (await Promise.all(engines.map((engine) => engine.stop()))),
  };
}
