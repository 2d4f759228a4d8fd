import type { S3Client } from '@aws-sdk/client-s3';
import { errorDetails } from '../../../lambda/storage/aws/classify-aws-error.ts';
import { errorSummary, type Finding, fail, ok } from './finding.ts';
import { isDenied, type ProbedCall, permissionFinding } from './permissions.ts';

type S3 = typeof import('@aws-sdk/client-s3');

/** Looks at the bucket: whether it is there, and may be used. Nothing is left in it. */
export async function* checkBucket(sdk: S3, client: S3Client, Bucket: string): AsyncGenerator<Finding> {
  try {
    const found = await bucketFinding(sdk, client, Bucket);
    yield found;
    if (found.status === 'ok')
      yield permissionFinding(
        'bucket rights',
        `the bucket "${Bucket}" and its objects`,
        await tryBucket(sdk, client, Bucket),
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
        `there is no bucket "${Bucket}"`,
        'Check name and account; or deploy the stack, or make it as docs/reference/storage-on-aws.md says.',
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
        `nobody may look into "${Bucket}"`,
        `Allow s3:ListBucket on the bucket "${Bucket}"; or it is another account's.`,
      );
    return fail(
      'bucket',
      `no good answer: ${name}: ${errorSummary(error)}`,
      'Check the network, and AWS_ENDPOINT_URL_S3 if it is set.',
    );
  }
}

const KEY = 'waitstate-doctor/none/none';

async function tryBucket(sdk: S3, client: S3Client, Bucket: string): Promise<readonly ProbedCall[]> {
  const tried = async (action: string, call: () => Promise<unknown>, fine: RegExp): Promise<ProbedCall> => {
    const error = await call().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    return { action, error: error !== undefined && fine.test(errorDetails(error).name) ? undefined : error };
  };
  const upload = { id: undefined as string | undefined };
  const begin = async () => {
    upload.id = (await client.send(new sdk.CreateMultipartUploadCommand({ Bucket, Key: KEY }))).UploadId;
  };
  return [
    await tried('s3:ListBucket', () => client.send(new sdk.ListObjectsV2Command({ Bucket, MaxKeys: 1 })), /^$/),
    await tried(
      's3:GetObject',
      () => client.send(new sdk.GetObjectCommand({ Bucket, Key: KEY })),
      /NoSuchKey|NotFound/,
    ),
    // An upload that is begun and given up writes nothing, and needs the right to write.
    await tried('s3:PutObject', begin, /^$/),
    ...(upload.id === undefined
      ? []
      : [
          await tried(
            's3:AbortMultipartUpload',
            () => client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key: KEY, UploadId: upload.id })),
            /NoSuchUpload/,
          ),
        ]),
    await tried(
      's3:DeleteObject',
      () => client.send(new sdk.DeleteObjectCommand({ Bucket, Key: KEY })),
      /NoSuchKey|NotFound/,
    ),
  ];
}
