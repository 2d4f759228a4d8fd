/**
 * The names of the stack outputs that describe the storage. The construct sets them, and the command line reads them.
 */
export const STACK_OUTPUTS = {
  /** The DynamoDB table for runs. */
  table: 'WaitstateTable',
  /** The S3 bucket for payloads. */
  bucket: 'WaitstateBucket',
  /** The URL of API and console; absent if none is deployed. */
  apiUrl: 'WaitstateApiUrl',
  /** The URL for JWT callers; absent without `jwt`. */
  jwtApiUrl: 'WaitstateJwtApiUrl',
  /** The KMS key of encrypted runs; absent without encryption. */
  key: 'WaitstateKmsKey',
} as const;

/**
 * The prefix of the outputs of a further Waitstate: its construct path in the stack, without characters that are not
 * allowed.
 */
export const outputPrefix = (path: string): string => path.replaceAll(/[^A-Za-z\d]/g, '');
