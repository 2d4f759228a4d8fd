/** The names of the outputs by which a deployed stack says where its runs are. The construct sets them, the command reads them. */
export const STACK_OUTPUTS = {
  /** The DynamoDB table of the runs. */
  table: 'WaitstateTable',
  /** The S3 bucket of their payloads. */
  bucket: 'WaitstateBucket',
  /** The URL of the API and the console; absent where none is deployed. */
  apiUrl: 'WaitstateApiUrl',
  /** The same for callers by JWT; absent where there are none. */
  jwtApiUrl: 'WaitstateJwtApiUrl',
  /** The KMS key of encrypted runs; absent where they are not. */
  key: 'WaitstateKmsKey',
} as const;

/** What stands before the outputs of one of several Waitstates: its place in the stack, as far as the name of an output takes it. */
export const outputPrefix = (place: string): string => place.replaceAll(/[^A-Za-z\d]/g, '');
