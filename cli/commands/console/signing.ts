import { AwsV4Signer } from 'aws4fetch';
import { WaitstateError } from '../../../lambda/core/errors.ts';
import { importOptionalPeer } from '../../../lambda/storage/aws/import-optional-peer.ts';

/** Returns the headers that sign a request to an API. */
export type Sign = (request: {
  readonly url: string;
  readonly method: string;
  readonly body: Uint8Array<ArrayBuffer> | undefined;
}) => Promise<Headers>;

/** Signs requests to API Gateway with the credentials that the AWS SDK finds, and renews them when they expire. */
export async function createSigner(apiUrl: string): Promise<Sign> {
  const { DynamoDBClient } = await importOptionalPeer(
    '@aws-sdk/client-dynamodb',
    () => import('@aws-sdk/client-dynamodb'),
  );
  const { config } = new DynamoDBClient({});
  const region = regionFromUrl(apiUrl) ?? (await config.region());
  // Fail now, and not at the first page.
  await config.credentials().catch((cause: unknown) => {
    throw new WaitstateError(
      'STORAGE_DENIED',
      `No AWS credentials were found: ${(cause as Error).message} Set AWS_PROFILE or AWS_ACCESS_KEY_ID, or pass --profile.`,
      { cause },
    );
  });
  return async ({ url, method, body }) => {
    const { accessKeyId, secretAccessKey, sessionToken } = await config.credentials();
    // Sign only the required headers: intermediaries may add others.
    const signer = new AwsV4Signer({
      url,
      method,
      accessKeyId,
      secretAccessKey,
      region,
      service: 'execute-api',
      ...(body && { body }),
      ...(sessionToken !== undefined && { sessionToken }),
    });
    return (await signer.sign()).headers;
  };
}

/** The region in the host name of an API; undefined for a custom domain. */
const regionFromUrl = (apiUrl: string): string | undefined =>
  /\.execute-api(?:-fips)?\.([\w-]+)\.amazonaws\.com(?:\.cn)?$/.exec(new URL(apiUrl).hostname)?.[1];
