import type { S3Client } from '@aws-sdk/client-s3';

/** The part of an S3 client that the adapter uses. */
export type S3Connection = Pick<S3Client, 'send' | 'config'>;
