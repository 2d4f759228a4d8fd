// SDK errors are classified by their fields: `instanceof` would load the SDK, and would fail on a second copy of it.

const TRANSIENT =
  /Throttl|SlowDown|TooManyRequests|RequestLimitExceeded|ThroughputExceeded|TransactionConflict|TransactionInProgress|ReplicatedWriteConflict|OperationAborted|Timeout|RequestTimeTooSkewed|Internal(Server)?(Error|Failure)|ServiceUnavailable/;
const NETWORK = /^(E(CONN|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)|ERR_STREAM_PREMATURE_CLOSE)/;

/** Whether the same call may succeed when retried. */
export function isTransient(error: unknown): boolean {
  const { name, code, status, message } = errorDetails(error);
  // After such a response the SDK corrects for clock skew.
  const isClockSkew = /^Signature (expired|not yet current)/.test(message);
  return status >= 500 || status === 429 || TRANSIENT.test(name) || NETWORK.test(code) || isClockSkew;
}

/** Whether a call fails again when retried: its target does not exist, or its payload is too large. */
export const isPermanent = (error: unknown): boolean => [404, 413].includes(errorDetails(error).status);

/** Converts a failure that AWS reports inside a successful response to an SDK error. */
export function toAwsError(code: string | undefined, message: string | undefined, cause?: unknown): Error {
  const error = new Error(message ?? 'no message', { cause });
  error.name = code ?? 'UnknownError';
  return Object.assign(error, { $metadata: {} });
}

/** The name of an SDK error. */
export const errorName = (error: unknown): string => errorDetails(error).name;

/** How many times the SDK itself sent the request. */
export const sdkAttempts = (error: unknown): number => errorDetails(error).attempts;

/** The fields of an error that classify it. */
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
    isAwsError: $metadata !== undefined,
  };
}
