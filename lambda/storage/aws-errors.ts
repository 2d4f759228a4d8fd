import { HoldpointError } from '../core/errors.ts';

/** What a call was about, for the message of its error. */
interface FailedCall {
  /** As in `the DynamoDB table "runs"`. */
  readonly resource: string;
  /** The IAM actions that the call needs. */
  readonly actions: readonly string[];
  /** Where the client looked, as in `region eu-central-1`. */
  readonly where: string;
}

const TRANSIENT =
  /Throttl|SlowDown|TooManyRequests|RequestLimitExceeded|ThroughputExceeded|TransactionConflict|TransactionInProgress|ReplicatedWriteConflict|OperationAborted|Timeout|RequestTimeTooSkewed|Internal(Server)?(Error|Failure)|ServiceUnavailable/;
const NETWORK = /^(E(CONN|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)|ERR_STREAM_PREMATURE_CLOSE)/;
const MISSING = /^(ResourceNotFoundException|NoSuchBucket|PermanentRedirect|AuthorizationHeaderMalformed)$/;
const CREDENTIALS =
  /Credentials|TokenProvider|ExpiredToken|InvalidToken|TokenRefresh|UnrecognizedClient|InvalidAccessKeyId|InvalidClientTokenId|MissingAuthenticationToken|InvalidSignature|SignatureDoesNotMatch/;
const DENIED = /AccessDenied|Forbidden|NotAuthorized|Unauthorized/;
const TOO_LARGE = /ItemCollectionSizeLimitExceeded|EntityTooLarge/;

/** Whether the same call may succeed a moment later. */
export function isTransient(error: unknown): boolean {
  const { name, code, status, message } = factsOf(error);
  // A clock that is off is set right by the SDK when it sees such an answer.
  const skewed = /^Signature (expired|not yet current)/.test(message);
  return status >= 500 || status === 429 || TRANSIENT.test(name) || NETWORK.test(code) || skewed;
}

/** The error of the ports for what the SDK threw; what is not of the SDK comes back as it is. */
export function storageError(error: unknown, { resource, actions, where }: FailedCall): unknown {
  if (error instanceof HoldpointError) return error;
  const { name, status, message, aws } = factsOf(error);
  const said = `AWS says: ${name}: ${message}`;
  const made = (code: HoldpointError['code'], text: string) => new HoldpointError(code, text, { cause: error });

  if (status === 507) return made('STORAGE_FULL', `No space is left for ${resource} (${where}). ${said}`);
  if (isTransient(error)) return made('STORAGE_UNAVAILABLE', `No good answer from ${resource} (${where}). ${said}`);
  if (message === 'Region is missing') {
    return made('STORAGE_MISSING', `No AWS region is set, so ${resource} cannot be found: set AWS_REGION.`);
  }
  if (MISSING.test(name) || /does not have the specified index/.test(message)) {
    return made('STORAGE_MISSING', `There is no ${resource} in ${where}: check name, region and account. ${said}`);
  }
  if (CREDENTIALS.test(name)) {
    return made('STORAGE_DENIED', `The AWS credentials for ${resource} are missing, wrong or expired. ${said}`);
  }
  if (DENIED.test(name) || status === 401 || status === 403) {
    return made('STORAGE_DENIED', `Not allowed: allow ${actions.join(', ')} on ${resource} (${where}). ${said}`);
  }
  if (TOO_LARGE.test(name) || (/Validation/.test(name) && /\bsize\b|exceed/i.test(message))) {
    return made('RECORD_TOO_LARGE', `Too large for ${resource}. ${said}`);
  }
  if (/Validation/.test(name) || (status >= 400 && status < 500)) {
    return made('INVALID_INPUT', `The request on ${resource} was refused. ${said}`);
  }
  if (/^Checksum mismatch/.test(message)) {
    return made('DAMAGED', `What came from ${resource} is not what was put. ${said}`);
  }
  return aws ? made('STORAGE_UNAVAILABLE', `The call on ${resource} (${where}) failed. ${said}`) : error;
}

/** A failure that AWS told inside of an answer, as the error that it would have been by itself. */
export function failure(code: string | undefined, message: string | undefined, cause?: unknown): Error {
  const error = new Error(message ?? 'no message', { cause });
  error.name = code ?? 'UnknownError';
  return Object.assign(error, { $metadata: {} });
}

/** The name of an SDK error; `instanceof` would load the SDK, and fail on its second copy. */
export const nameOf = (error: unknown): string => factsOf(error).name;

/** How often the SDK itself sent the request before it gave this answer. */
export const attemptsOf = (error: unknown): number => factsOf(error).attempts;

function factsOf(error: unknown) {
  const { name, code, message, $metadata } = (error ?? {}) as {
    name?: unknown;
    code?: unknown;
    message?: unknown;
    $metadata?: { httpStatusCode?: number; attempts?: number };
  };
  return {
    name: String(name ?? ''),
    code: String(code ?? ''),
    message: String(message ?? error),
    status: $metadata?.httpStatusCode ?? 0,
    attempts: $metadata?.attempts ?? 1,
    aws: $metadata !== undefined,
  };
}
