import type { S3Client } from '@aws-sdk/client-s3';
import { errorDetails } from '../../../lambda/storage/aws/classify-aws-error.ts';
import { errorSummary, type Finding, fail, ok } from './finding.ts';
import { isDenied, type ProbedCall, permissionFinding } from './permissions.ts';

type S3 = typeof import('@aws-sdk/client-s3');

/** Checks that the bucket exists and that you have the permissions. Leaves nothing in it. */
export async function* checkBucket(sdk: S3, client: S3Client, Bucket: string): AsyncGenerator<Finding> {
  try {
    const found = await bucketFinding(sdk, client, Bucket);
    yield found;
    if (found.status === 'ok')
      yield permissionFinding(
        'bucket access',
        `the bucket "${Bucket}" and its objects`,
        await probeBucket(sdk, client, Bucket),
      );
  } finally {
    client.destroy();
  }
}

async function bucketFinding(sdk: S3, client: S3Client, Bucket: string): Promise<Finding> {
  try {
    await client.send(new sdk.HeadBucketCommand({ Bucket }));
    return ok('bucket', `"${Bucket}"`);
  } catch (error) {
    const { name, status } = errorDetails(error);
    if (status === 404 || name === 'NoSuchBucket')
      return fail(
        'bucket',
        `bucket "${Bucket}" does not exist`,
        'Check the name and the account. Deploy the stack, or create the bucket as in docs/reference/storage-on-aws.md.',
      );
    if (status === 301 || name === 'PermanentRedirect')
      return fail(
        'bucket',
        `"${Bucket}" is in another region`,
        'Use the region of the bucket: --region, or AWS_REGION.',
      );
    if (isDenied(error))
      return fail(
        'bucket',
        `access to "${Bucket}" is denied`,
        `Allow s3:ListBucket on the bucket "${Bucket}", and check that it belongs to your account.`,
      );
    return fail(
      'bucket',
      `request failed: ${name}: ${errorSummary(error)}`,
      'Check the network, and AWS_ENDPOINT_URL_S3 if it is set.',
    );
  }
}

const PROBE_KEY = 'waitstate-doctor/none/none';

async function probeBucket(sdk: S3, client: S3Client, Bucket: string): Promise<readonly ProbedCall[]> {
  const probe = async (action: string, call: () => Promise<unknown>, expectedError: RegExp): Promise<ProbedCall> => {
    const error = await call().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    return { action, error: error !== undefined && expectedError.test(errorDetails(error).name) ? undefined : error };
  };
  const upload = { id: undefined as string | undefined };
  const startUpload = async () => {
    upload.id = (await client.send(new sdk.CreateMultipartUploadCommand({ Bucket, Key: PROBE_KEY }))).UploadId;
  };
  return [
    await probe('s3:ListBucket', () => client.send(new sdk.ListObjectsV2Command({ Bucket, MaxKeys: 1 })), /^$/),
    await probe(
      's3:GetObject',
      () => client.send(new sdk.GetObjectCommand({ Bucket, Key: PROBE_KEY })),
      /NoSuchKey|NotFound/,
    ),
    // Starting and aborting a multipart upload needs the permission to write, but writes nothing.
    await probe('s3:PutObject', startUpload, /^$/),
    ...(upload.id === undefined
      ? []
      : [
          await probe(
            's3:AbortMultipartUpload',
            () => client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key: PROBE_KEY, UploadId: upload.id })),
            /NoSuchUpload/,
          ),
        ]),
    await probe(
      's3:DeleteObject',
      () => client.send(new sdk.DeleteObjectCommand({ Bucket, Key: PROBE_KEY })),
      /NoSuchKey|NotFound/,
    ),
  ];
}
