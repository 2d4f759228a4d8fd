import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { importOptionalPeer } from '../aws/import-optional-peer.ts';
import { SIGNED_URL_SECONDS, type SignedUrls } from '../ports.ts';

/** Presigned URLs for the payloads of a bucket; the SDK is loaded on first use. */
export function s3SignedUrls({
  bucket,
  config,
}: {
  readonly bucket: string;
  readonly config?: S3ClientConfig;
}): SignedUrls {
  let client: S3Client | undefined;
  const sign = async (kind: 'put' | 'get', partition: string, id: string): Promise<string> => {
    const s3 = await importOptionalPeer('@aws-sdk/client-s3', () => import('@aws-sdk/client-s3'));
    const { getSignedUrl } = await importOptionalPeer(
      '@aws-sdk/s3-request-presigner',
      () => import('@aws-sdk/s3-request-presigner'),
    );
    // Otherwise an upload URL would include the checksum of an empty body, and S3 would reject any other content.
    client ??= new s3.S3Client({ ...config, requestChecksumCalculation: 'WHEN_REQUIRED' });
    const location = { Bucket: bucket, Key: `${partition}/${id}` };
    const command = kind === 'put' ? new s3.PutObjectCommand(location) : new s3.GetObjectCommand(location);
    return getSignedUrl(client, command, { expiresIn: SIGNED_URL_SECONDS });
  };
  return {
    put: (partition, id) => sign('put', partition, id),
    get: (partition, id) => sign('get', partition, id),
  };
}
