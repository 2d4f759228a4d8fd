import { inject } from 'vitest';
import type { EngineAt } from '../engines/engines.ts';

const endpointOf = (engine: EngineAt): string => {
  if ('missing' in engine) throw new Error(engine.missing);
  return engine.endpoint;
};

/** The environment that points the AWS SDK at the local engines of this test run. */
export const engineEnvironment = (): NodeJS.ProcessEnv => ({
  AWS_ENDPOINT_URL_DYNAMODB: endpointOf(inject('dynamodb')),
  AWS_ENDPOINT_URL_S3: endpointOf(inject('s3')),
  AWS_REGION: process.env.AWS_REGION ?? 'us-east-1',
  AWS_ACCESS_KEY_ID: process.env.AWS_ACCESS_KEY_ID ?? 'test',
  AWS_SECRET_ACCESS_KEY: process.env.AWS_SECRET_ACCESS_KEY ?? 'test',
  // Prevents network requests for settings that are missing here.
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
});
