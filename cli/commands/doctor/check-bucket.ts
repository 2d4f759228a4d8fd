import type { S3Client } from '@aws-sdk/client-s3';
import { escapeId, toPartition } from '../../../lambda/core/ids.ts';
import { errorDetails } from '../../../lambda/storage/aws/classify-aws-error.ts';
import { errorSummary, type Finding, fail, ok } from './finding.ts';
import { isDenied, PROBE_RUN, type ProbedCall, permissionFinding } from './permissions.ts';

type S3 = typeof import('@aws-sdk/client-s3');

/** Checks that the bucket exists and that you have the permissions on the payloads of a tenant. Leaves nothing in it. */
export async function* checkBucket(
  sdk: S3,
  client: S3Client,
  { bucket, tenant }: { readonly bucket: string; readonly tenant: string },
): AsyncGenerator<Finding> {
  try {
    const { finding, object } = await findBucket(sdk, client, bucket, `${escapeId('tenant', tenant)}/`);
    yield finding;
    if (finding.status === 'ok')
      yield permissionFinding(
        'bucket access',
        `the bucket "${bucket}" and its objects`,
        await probeBucket(sdk, client, { Bucket: bucket, object, probe: `${toPartition(tenant, PROBE_RUN)}/none` }),
      );
  } finally {
    client.destroy();
  }
}

/** Lists a payload of the tenant. A policy may allow only listing its prefix, which `HeadBucket` does not name. */
async function findBucket(
  sdk: S3,
  client: S3Client,
  Bucket: string,
  Prefix: string,
): Promise<{ readonly finding: Finding; readonly object?: string | undefined }> {
  try {
    const { Contents = [] } = await client.send(new sdk.ListObjectsV2Command({ Bucket, Prefix, MaxKeys: 1 }));
    return { finding: ok('bucket', `"${Bucket}"`), object: Contents[0]?.Key };
  } catch (error) {
    return { finding: bucketFailure(Bucket, error) };
  }
}

function bucketFailure(Bucket: string, error: unknown): Finding {
  const { name, status } = errorDetails(error);
  if (status === 404 || name === 'NoSuchBucket')
    return fail(
      'bucket',
      `bucket "${Bucket}" does not exist`,
      'Check the name and the account. Deploy the stack, or create the bucket as in docs/reference/storage-on-aws.md.',
    );
  if (status === 301 || name === 'PermanentRedirect')
    return fail('bucket', `"${Bucket}" is in another region`, 'Use the region of the bucket: --region, or AWS_REGION.');
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

interface BucketProbe {
  readonly Bucket: string;
  /** An existing payload. */
  readonly object: string | undefined;
  /** The key of an object that does not exist. */
  readonly probe: string;
}

async function probeBucket(
  sdk: S3,
  client: S3Client,
  { Bucket, object, probe: Key }: BucketProbe,
): Promise<readonly ProbedCall[]> {
  const probe = async (action: string, call: () => Promise<unknown>, expectedError: RegExp): Promise<ProbedCall> => {
    const error = await call().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    return { action, error: error !== undefined && expectedError.test(errorDetails(error).name) ? undefined : error };
  };
  const upload = { id: undefined as string | undefined };
  const startUpload = async () => {
    upload.id = (await client.send(new sdk.CreateMultipartUploadCommand({ Bucket, Key }))).UploadId;
  };
  const readObject = async () => {
    const { Body } = await client.send(new sdk.GetObjectCommand({ Bucket, Key: object ?? Key, Range: 'bytes=0-0' }));
    await Body?.transformToByteArray();
  };
  const read = await probe('s3:GetObject', readObject, /NoSuchKey|NotFound|InvalidRange/);
  // A role that may list only the prefix of its tenant gets 403 for an object that does not exist, whatever it may read.
  const cannotTell = object === undefined && isDenied(read.error);
  return [
    { action: 's3:ListBucket', error: undefined },
    ...(cannotTell ? [] : [read]),
    // Starting and aborting a multipart upload needs the permission to write, but writes nothing.
    await probe('s3:PutObject', startUpload, /^$/),
    ...(upload.id === undefined
      ? []
      : [
          await probe(
            's3:AbortMultipartUpload',
            () => client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId: upload.id })),
            /NoSuchUpload/,
          ),
        ]),
    await probe(
      's3:DeleteObject',
      () => client.send(new sdk.DeleteObjectCommand({ Bucket, Key })),
      /NoSuchKey|NotFound/,
    ),
  ];
}
