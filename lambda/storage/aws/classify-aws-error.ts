// What is known of an error of the SDK. By its fields: `instanceof` would load the SDK, and fail on its second copy.

const TRANSIENT =
  /Throttl|SlowDown|TooManyRequests|RequestLimitExceeded|ThroughputExceeded|TransactionConflict|TransactionInProgress|ReplicatedWriteConflict|OperationAborted|Timeout|RequestTimeTooSkewed|Internal(Server)?(Error|Failure)|ServiceUnavailable/;
const NETWORK = /^(E(CONN|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)|ERR_STREAM_PREMATURE_CLOSE)/;

/** Whether the same call may succeed a moment later. */
export function isTransient(error: unknown): boolean {
  const { name, code, status, message } = errorDetails(error);
  // A clock that is off is set right by the SDK when it sees such an answer.
  const isClockSkew = /^Signature (expired|not yet current)/.test(message);
  return status >= 500 || status === 429 || TRANSIENT.test(name) || NETWORK.test(code) || isClockSkew;
}

/** Whether what a call names is not there, or what it brings is too large: the same call fails again. */
export const isPermanent = (error: unknown): boolean => [404, 413].includes(errorDetails(error).status);

/** A failure that AWS told inside of an answer, as the error that it would have been by itself. */
export function toAwsError(code: string | undefined, message: string | undefined, cause?: unknown): Error {
  const error = new Error(message ?? 'no message', { cause });
  error.name = code ?? 'UnknownError';
  return Object.assign(error, { $metadata: {} });
}

/** The name of an SDK error; `instanceof` would load the SDK, and fail on its second copy. */
export const errorName = (error: unknown): string => errorDetails(error).name;

/** How often the SDK itself sent the request before it gave this answer. */
export const sdkAttempts = (error: unknown): number => errorDetails(error).attempts;

/** The fields of an error that tell what it is. */
export function errorDetails(error: unknown) {
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
