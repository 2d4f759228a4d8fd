import {
  DeleteObjectsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  NoSuchBucket,
  type ObjectIdentifier,
  type S3Client,
} from '@aws-sdk/client-s3';

/** Removes all objects of a bucket in all versions; does nothing if the bucket does not exist. */
export async function emptyBucket(client: S3Client, Bucket: string, signal: AbortSignal): Promise<void> {
  const remove = async (list: () => Promise<readonly ObjectIdentifier[]>): Promise<void> => {
    for (;;) {
      signal.throwIfAborted();
      const Objects = (await list()).map(({ Key, VersionId }) => ({ Key, VersionId }));
      if (Objects.length === 0) return;
      const { Errors: [failed] = [] } = await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
      if (failed) throw new Error(`${failed.Key} in ${Bucket} could not be removed: ${failed.Code} ${failed.Message}`);
    }
  };
  try {
    await remove(async () => named((await client.send(new ListObjectsV2Command({ Bucket }))).Contents));
    // A versioned bucket still has old versions and delete markers.
    await remove(async () => {
      const { Versions, DeleteMarkers } = await client.send(new ListObjectVersionsCommand({ Bucket }));
      return [...named(Versions), ...named(DeleteMarkers)];
    });
  } catch (error) {
    if (!(error instanceof NoSuchBucket)) throw error;
  }
}

const named = <T extends { readonly Key?: string | undefined }>(listed: readonly T[] = []) =>
  listed.flatMap(({ Key, ...rest }) => (Key === undefined ? [] : [{ ...rest, Key }]));
