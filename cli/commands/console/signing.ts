import { AwsV4Signer } from 'aws4fetch';
import { WaitstateError } from '../../../lambda/core/errors.ts';
import { importOptionalPeer } from '../../../lambda/storage/aws/import-optional-peer.ts';

/** The headers that sign a request to an API. */
export type Sign = (request: {
  readonly url: string;
  readonly method: string;
  readonly body: Uint8Array<ArrayBuffer> | undefined;
}) => Promise<Headers>;

/** Signs requests to an API of API Gateway with the credentials that the AWS SDK finds; they are renewed as they expire. */
export async function createSigner(apiUrl: string): Promise<Sign> {
  const { DynamoDBClient } = await importOptionalPeer(
    '@aws-sdk/client-dynamodb',
    () => import('@aws-sdk/client-dynamodb'),
  );
  const { config } = new DynamoDBClient({});
  const region = regionFromUrl(apiUrl) ?? (await config.region());
  // At once, and not when somebody looks at a page.
  await config.credentials().catch((cause: unknown) => {
    throw new WaitstateError(
      'STORAGE_DENIED',
      `No AWS credentials were found: set AWS_PROFILE or AWS_ACCESS_KEY_ID, or pass --profile. AWS says: ${(cause as Error).message}`,
      { cause },
    );
  });
  return async ({ url, method, body }) => {
    const { accessKeyId, secretAccessKey, sessionToken } = await config.credentials();
    // Only what must be signed is: whoever stands between may add to the rest.
    const signer = new AwsV4Signer({
      ...{ url, method, accessKeyId, secretAccessKey, region, service: 'execute-api' },
      ...(body && { body }),
      ...(sessionToken !== undefined && { sessionToken }),
    });
    return (await signer.sign()).headers;
  };
}

/** The region that the name of an API has; a domain of one's own has none. */
const regionFromUrl = (apiUrl: string): string | undefined =>
  /\.execute-api(?:-fips)?\.([\w-]+)\.amazonaws\.com(?:\.cn)?$/.exec(new URL(apiUrl).hostname)?.[1];
