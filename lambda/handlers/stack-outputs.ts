/** The names of the outputs by which a deployed stack says where its runs are. The construct sets them, the command reads them. */
export const STACK_OUTPUTS = {
  /** The DynamoDB table of the runs. */
  table: 'HoldpointTable',
  /** The S3 bucket of their payloads. */
  bucket: 'HoldpointBucket',
  /** The URL of the API and the console; absent where none is deployed. */
  apiUrl: 'HoldpointApiUrl',
  /** The same for callers by JWT; absent where there are none. */
  jwtApiUrl: 'HoldpointJwtApiUrl',
  /** The KMS key of encrypted runs; absent where they are not. */
  key: 'HoldpointKmsKey',
} as const;

/** What stands before the outputs of one of several Holdpoints: its place in the stack, as far as the name of an output takes it. */
export const outputPrefix = (place: string): string => place.replaceAll(/[^A-Za-z\d]/g, '');
