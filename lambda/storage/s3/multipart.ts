import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import type { AwsCall } from '../aws/aws-calls.ts';
import { errorName, sdkAttempts } from '../aws/classify-aws-error.ts';
import type { S3Connection } from './s3-connection.ts';

/** Parts uploaded at a time; with the first two, which are read ahead, at most five are in memory. */
const MAX_PARTS_IN_FLIGHT = 3;

interface ObjectLocation {
  readonly Bucket: string;
  readonly Key: string;
}

interface Upload extends ObjectLocation {
  readonly UploadId: string | undefined;
}

type Parts<P> = AsyncIterable<P> | Iterable<P>;

/** Uploads and copies in parts; a failed one leaves nothing behind. */
export function createMultipart(call: AwsCall<S3Connection>, resource: string) {
  const writing = { resource, actions: ['s3:PutObject'] };
  const copying = { resource, actions: ['s3:PutObject', 's3:GetObject'] };
  const aborting = { resource, actions: ['s3:AbortMultipartUpload'] };

  async function sendInParts<P>(
    target: ObjectLocation & { ChecksumAlgorithm?: 'CRC32' },
    parts: Parts<P>,
    send: (part: P, uploadPart: Upload & { PartNumber: number }) => Promise<CompletedPart>,
  ): Promise<void> {
    const { UploadId } = await call(writing, (client) => client.send(new CreateMultipartUploadCommand(target)));
    const upload = { Bucket: target.Bucket, Key: target.Key, UploadId };
    try {
      await complete(upload, await sendAll(parts, (part, PartNumber) => send(part, { ...upload, PartNumber })));
    } catch (error) {
      // The original error matters more; a lifecycle rule of the bucket removes parts that cannot be removed now.
      await call(aborting, (client) => client.send(new AbortMultipartUploadCommand(upload))).catch(() => {});
      throw error;
    }
  }

  const complete = (upload: Upload, Parts: CompletedPart[]) =>
    call<unknown>(writing, async (client, isRetry) => {
      try {
        return await client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }));
      } catch (error) {
        // Ids are written only once, so after a lost response an existing object is the completed upload.
        if (!(isRetry || sdkAttempts(error) > 1) || errorName(error) !== 'NoSuchUpload') throw error;
        return await client.send(new HeadObjectCommand({ Bucket: upload.Bucket, Key: upload.Key }));
      }
    });

  return {
    upload: (target: ObjectLocation, parts: Parts<Uint8Array>): Promise<void> =>
      // The SDK adds this checksum to parts by default, and S3 rejects parts with another one than the upload's.
      sendInParts({ ...target, ChecksumAlgorithm: 'CRC32' }, parts, async (Body, uploadPart) => {
        const { ETag, ChecksumCRC32 } = await call(writing, (client) =>
          client.send(new UploadPartCommand({ ...uploadPart, Body, ChecksumAlgorithm: 'CRC32' })),
        );
        return { PartNumber: uploadPart.PartNumber, ETag, ChecksumCRC32 };
      }),

    copy: (target: ObjectLocation, CopySource: string, ranges: Iterable<string>): Promise<void> =>
      sendInParts(target, ranges, async (CopySourceRange, uploadPart) => {
        const { CopyPartResult } = await call(copying, (client) =>
          client.send(new UploadPartCopyCommand({ ...uploadPart, CopySource, CopySourceRange })),
        );
        return { PartNumber: uploadPart.PartNumber, ETag: CopyPartResult?.ETag };
      }),
  };
}

async function sendAll<P>(
  parts: Parts<P>,
  send: (part: P, partNumber: number) => Promise<CompletedPart>,
): Promise<CompletedPart[]> {
  const sent: CompletedPart[] = [];
  const inFlight = new Set<Promise<void>>();
  let failed: { readonly error: unknown } | undefined;
  let last = 0;
  try {
    for await (const part of parts) {
      const partNumber = ++last;
      const sending = send(part, partNumber)
        .then(
          (done) => {
            sent[partNumber - 1] = done;
          },
          (error) => {
            failed ??= { error };
          },
        )
        .finally(() => inFlight.delete(sending));
      inFlight.add(sending);
      if (inFlight.size >= MAX_PARTS_IN_FLIGHT) await Promise.race(inFlight);
      if (failed) break;
    }
  } finally {
    // A part that arrives after an abort would stay behind.
    await Promise.all(inFlight);
  }
  if (failed) throw failed.error;
  return sent;
}
