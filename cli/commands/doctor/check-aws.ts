import { isWaitstateError } from '../../../lambda/core/errors.ts';
import { importOptionalPeer } from '../../../lambda/storage/aws/import-optional-peer.ts';
import type { AwsTarget } from '../../target/target.ts';
import { checkApi } from './check-api.ts';
import { checkBucket } from './check-bucket.ts';
import { checkKey } from './check-key.ts';
import { checkTable } from './check-table.ts';
import { type ClockSkew, clockFinding, measureClockSkew } from './clock-skew.ts';
import { errorSummary, type Finding, fail, ok } from './finding.ts';

/** Looks at a place on AWS: the account, then the table, the bucket, the key and the API, each by calls that change nothing. */
export async function* checkAws(place: AwsTarget, now: () => number): AsyncGenerator<Finding> {
  const dynamo = await loaded('@aws-sdk/client-dynamodb', () => import('@aws-sdk/client-dynamodb'));
  if ('status' in dynamo) return yield dynamo;
  // A doctor that waits is no help: what does not answer soon is said so.
  const client = new dynamo.DynamoDBClient(QUICK);
  const clock: ClockSkew = measureClockSkew(client.middlewareStack, now);
  try {
    const region = await settled('region', client.config.region, (found) => String(found), NO_REGION);
    yield region;
    const credentials = await settled(
      'credentials',
      client.config.credentials,
      ({ accessKeyId, expiration }) => {
        const until = expiration ? `, until ${expiration.toISOString()}` : '';
        return `key …${accessKeyId.slice(-4)}${until}`;
      },
      NO_CREDENTIALS,
    );
    yield credentials;
    if (region.status === 'fail' || credentials.status === 'fail') return;
    yield* checkTable(dynamo, client, place.table);
    yield clockFinding(clock);
    const s3 = await loaded('@aws-sdk/client-s3', () => import('@aws-sdk/client-s3'));
    if ('status' in s3) yield s3;
    else yield* checkBucket(s3, new s3.S3Client({ ...QUICK, ...pathStyle() }), place.bucket);
    if (place.key !== undefined) yield await checkKey(place.key);
    if (place.apiUrl !== undefined) yield* checkApi(place.apiUrl);
  } finally {
    client.destroy();
  }
}

const QUICK = { maxAttempts: 2, requestHandler: { connectionTimeout: 3_000, requestTimeout: 5_000 } };

const NO_REGION = 'Set AWS_REGION, pass --region, or name a profile that has one by --profile.';
const NO_CREDENTIALS = 'Log in (such as by "aws sso login"), set AWS_PROFILE or AWS_ACCESS_KEY_ID, or pass --profile.';

// Engines on one machine have no names for buckets.
const pathStyle = () =>
  process.env.AWS_ENDPOINT_URL_S3 || process.env.AWS_ENDPOINT_URL ? { forcePathStyle: true } : {};

async function settled<T>(
  check: string,
  read: () => Promise<T>,
  text: (found: T) => string,
  mend: string,
): Promise<Finding> {
  try {
    return ok(check, text(await read()));
  } catch (error) {
    return fail(check, errorSummary(error), mend);
  }
}

/** A package that only those need who use AWS. */
async function loaded<M>(name: string, load: () => Promise<M>): Promise<M | Finding> {
  try {
    return await importOptionalPeer(name, load);
  } catch (error) {
    if (!isWaitstateError(error, 'STORAGE_MISSING')) throw error;
    return fail('packages', `${name} is not installed`, `npm install ${name}`);
  }
}
