import {
  CopyObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { type AwsRetryOptions, createAwsCall } from '../aws/aws-calls.ts';
import { errorName, toAwsError } from '../aws/classify-aws-error.ts';
import { storageError } from '../aws/to-storage-error.ts';
import type { PayloadStore, StoredPayload } from '../ports.ts';
import { createMultipart } from './multipart.ts';
import { copyRanges, splitIntoParts } from './parts.ts';
import type { S3Connection } from './s3-connection.ts';

export interface S3PayloadStoreOptions extends AwsRetryOptions {
  readonly bucket: string;
  /** The prefix of every key. @default none */
  readonly prefix?: string;
  /** Your own client, which you close yourself. @default a client from the environment, created on first use */
  readonly client?: S3Connection;
}

const MAX_DELETE_KEYS = 1_000;

/** A payload store in one S3 bucket, with keys `<prefix><partition>/<id>`. The first call creates the client. */
export function s3PayloadStore({ bucket, prefix = '', client, ...retries }: S3PayloadStoreOptions): PayloadStore {
  let ownClient: S3Client | undefined;
  const call = createAwsCall(() => {
    if (client) return client;
    ownClient = new S3Client(CLIENT_CONFIG);
    return ownClient;
  }, retries);
  const resource = `S3 bucket "${bucket}"`;
  const callInfo = (...actions: string[]) => ({ resource, actions });
  const multipart = createMultipart(call, resource);
  const objectAt = (partition: string, id: string) => ({ Bucket: bucket, Key: `${prefix}${partition}/${id}` });

  return {
    async put(partition, id, content) {
      const target = objectAt(partition, id);
      const parts = splitIntoParts(content instanceof Uint8Array ? [content] : content);
      try {
        const { value: Body = new Uint8Array() } = await parts.next();
        const { value: second } = await parts.next();
        if (second) return await multipart.upload(target, prependParts(Body, second, parts));
        await call(callInfo('s3:PutObject'), (client) => client.send(new PutObjectCommand({ ...target, Body })));
      } finally {
        await parts.return(undefined);
      }
    },

    async open(partition, id) {
      const response = await undefinedIfMissing(
        call(callInfo('s3:GetObject', LIST_BUCKET_HINT), (client) =>
          client.send(new GetObjectCommand(objectAt(partition, id))),
        ),
      );
      return (
        response &&
        withDownloadErrors(response.Body as AsyncIterable<Uint8Array>, resource, (client ?? ownClient)?.config)
      );
    },

    async copy(from, to) {
      const source = objectAt(from.partition, from.id);
      const target = objectAt(to.partition, to.id);
      const CopySource = `${bucket}/${source.Key.split('/').map(encodeURIComponent).join('/')}`;
      const copyInfo = callInfo('s3:GetObject', 's3:PutObject', LIST_BUCKET_HINT);
      const copied = await undefinedIfMissing(
        call(copyInfo, async (client) => {
          try {
            return await client.send(new CopyObjectCommand({ ...target, CopySource }));
          } catch (error) {
            // Objects above 5 GB need several requests. Reading the size first would cost every other copy a request.
            if (!/larger than the maximum/.test(String(error))) throw error;
            return (await client.send(new HeadObjectCommand(source))).ContentLength;
          }
        }),
      );
      if (typeof copied === 'number') await multipart.copy(target, CopySource, copyRanges(copied));
      return copied !== undefined;
    },

    async *list(scope, after) {
      const Prefix = scope === undefined ? prefix : `${prefix}${scope}/`;
      // Ids have no `~`, so this is behind all payloads of the partition.
      const StartAfter = after === undefined ? undefined : `${prefix}${after}/~`;
      let page: ListObjectsV2CommandOutput | undefined;
      do {
        const ContinuationToken: string | undefined = page?.NextContinuationToken;
        page = await call(callInfo('s3:ListBucket'), (client) =>
          client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix, StartAfter, ContinuationToken })),
        );
        for (const { Key = '', Size = 0, LastModified } of page.Contents ?? []) {
          const payload = parsePayloadPath(Key.slice(prefix.length), Size, LastModified);
          if (payload) yield payload;
        }
      } while (page.NextContinuationToken);
    },

    async remove(partition, ids) {
      for (let start = 0; start < ids.length; start += MAX_DELETE_KEYS) {
        const Objects = ids.slice(start, start + MAX_DELETE_KEYS).map((id) => ({ Key: objectAt(partition, id).Key }));
        await call(callInfo('s3:DeleteObject'), async (client) => {
          const Delete = { Objects, Quiet: true };
          const { Errors = [] } = await client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete }));
          const [first] = Errors.filter(({ Code }) => Code !== 'NoSuchKey');
          if (first)
            throw toAwsError(first.Code, `${first.Message} (${Errors.length} keys, the first is ${first.Key})`);
        });
      }
    },

    async close() {
      ownClient?.destroy();
    },
  };
}

const CLIENT_CONFIG = { maxAttempts: 1, requestHandler: { connectionTimeout: 3_000, socketTimeout: 30_000 } };

const LIST_BUCKET_HINT = 's3:ListBucket (without it, S3 responds with 403 for a missing payload)';

async function* prependParts(first: Uint8Array, second: Uint8Array, rest: AsyncIterable<Uint8Array>) {
  yield first;
  yield second;
  yield* rest;
}

async function undefinedIfMissing<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    const { cause } = Object(error) as { cause?: unknown };
    if (/^(NoSuchKey|NotFound)$/.test(errorName(cause))) return undefined;
    throw error;
  }
}

async function* withDownloadErrors(
  body: AsyncIterable<Uint8Array>,
  resource: string,
  config: unknown,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw await storageError(error, { resource: `${resource} during a download`, actions: ['s3:GetObject'] }, config);
  }
}

// Keys without a partition and an id are not payloads.
function parsePayloadPath(path: string, size: number, written: Date | undefined): StoredPayload | undefined {
  const slash = path.lastIndexOf('/');
  if (slash < 1 || slash === path.length - 1) return undefined;
  return { partition: path.slice(0, slash), id: path.slice(slash + 1), size, writtenAt: written?.getTime() ?? 0 };
}
