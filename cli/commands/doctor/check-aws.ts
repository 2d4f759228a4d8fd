import { isWaitstateError } from '../../../lambda/core/errors.ts';
import { importOptionalPeer } from '../../../lambda/storage/aws/import-optional-peer.ts';
import type { AwsTarget } from '../../target/target.ts';
import { checkApi } from './check-api.ts';
import { checkBucket } from './check-bucket.ts';
import { checkKey } from './check-key.ts';
import { checkTable } from './check-table.ts';
import { type ClockSkew, clockFinding, measureClockSkew } from './clock-skew.ts';
import { errorSummary, type Finding, fail, ok } from './finding.ts';

/**
 * Checks a target on AWS: the account, the table, the bucket, the key and the API, with calls that change nothing. They
 * use keys of the tenant, because a role may be restricted to it.
 */
export async function* checkAws(target: AwsTarget, tenant: string, now: () => number): AsyncGenerator<Finding> {
  const dynamo = await importPackage('@aws-sdk/client-dynamodb', () => import('@aws-sdk/client-dynamodb'));
  if ('status' in dynamo) return yield dynamo;
  // Short timeouts: a service that does not respond soon is reported.
  const client = new dynamo.DynamoDBClient(FAIL_FAST);
  const clock: ClockSkew = measureClockSkew(client.middlewareStack, now);
  try {
    const region = await checkSetting('region', client.config.region, (found) => String(found), REGION_ADVICE);
    yield region;
    const credentials = await checkSetting(
      'credentials',
      client.config.credentials,
      ({ accessKeyId, expiration }) => {
        const until = expiration ? `, until ${expiration.toISOString()}` : '';
        return `key …${accessKeyId.slice(-4)}${until}`;
      },
      CREDENTIALS_ADVICE,
    );
    yield credentials;
    if (region.status === 'fail' || credentials.status === 'fail') return;
    yield* checkTable(dynamo, client, { table: target.table, tenant });
    yield clockFinding(clock);
    const s3 = await importPackage('@aws-sdk/client-s3', () => import('@aws-sdk/client-s3'));
    if ('status' in s3) yield s3;
    else yield* checkBucket(s3, new s3.S3Client({ ...FAIL_FAST, ...pathStyle() }), { bucket: target.bucket, tenant });
    if (target.key !== undefined) yield await checkKey(target.key, tenant);
    if (target.apiUrl !== undefined) yield* checkApi(target.apiUrl);
  } finally {
    client.destroy();
  }
}

const FAIL_FAST = { maxAttempts: 2, requestHandler: { connectionTimeout: 3_000, requestTimeout: 5_000 } };

const REGION_ADVICE = 'Set AWS_REGION, pass --region, or choose a profile with a region with --profile.';
const CREDENTIALS_ADVICE =
  'Log in (for example with "aws sso login"), set AWS_PROFILE or AWS_ACCESS_KEY_ID, or pass --profile.';

// Local S3 engines have no DNS names for buckets.
const pathStyle = () =>
  process.env.AWS_ENDPOINT_URL_S3 || process.env.AWS_ENDPOINT_URL ? { forcePathStyle: true } : {};

async function checkSetting<T>(
  check: string,
  read: () => Promise<T>,
  text: (found: T) => string,
  advice: string,
): Promise<Finding> {
  try {
    return ok(check, text(await read()));
  } catch (error) {
    return fail(check, errorSummary(error), advice);
  }
}

/** Imports an optional package that is needed only on AWS. */
async function importPackage<M>(name: string, load: () => Promise<M>): Promise<M | Finding> {
  try {
    return await importOptionalPeer(name, load);
  } catch (error) {
    if (!isWaitstateError(error, 'STORAGE_MISSING')) throw error;
    return fail('packages', `${name} is not installed`, `npm install ${name}`);
  }
}
