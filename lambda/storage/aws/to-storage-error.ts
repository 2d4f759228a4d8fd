import { WaitstateError } from '../../core/errors.ts';
import { errorDetails, isTransient } from './classify-aws-error.ts';

/** The failed call, for the error message. */
interface FailedCall {
  /** As in `the DynamoDB table "runs"`. */
  readonly resource: string;
  /** The IAM actions that the call needs. */
  readonly actions: readonly string[];
}

const MISSING = /^(ResourceNotFoundException|NoSuchBucket|PermanentRedirect|AuthorizationHeaderMalformed)$/;
const CREDENTIALS =
  /Credentials|TokenProvider|ExpiredToken|InvalidToken|TokenRefresh|UnrecognizedClient|InvalidAccessKeyId|InvalidClientTokenId|MissingAuthenticationToken|InvalidSignature|SignatureDoesNotMatch/;
const DENIED = /AccessDenied|Forbidden|NotAuthorized|Unauthorized/;
const TOO_LARGE = /ItemCollectionSizeLimitExceeded|EntityTooLarge/;

/** Converts an SDK error to an error of the ports; returns any other error unchanged. */
export async function storageError(
  error: unknown,
  { resource, actions }: FailedCall,
  config: unknown,
): Promise<unknown> {
  if (error instanceof WaitstateError) return error;
  const where = await describeEndpoint(config);
  const { name, status, message, isAwsError } = errorDetails(error);
  const awsMessage = `AWS says: ${name}: ${message}`;
  const toError = (code: WaitstateError['code'], text: string) => new WaitstateError(code, text, { cause: error });

  if (status === 507) return toError('STORAGE_FULL', `The ${resource} (${where}) has no space left. ${awsMessage}`);
  if (isTransient(error))
    return toError('STORAGE_UNAVAILABLE', `The ${resource} (${where}) is unavailable; try again later. ${awsMessage}`);
  if (message === 'Region is missing') {
    return toError('STORAGE_MISSING', `No AWS region is set, so the ${resource} cannot be found. Set AWS_REGION.`);
  }
  if (MISSING.test(name) || /does not have the specified index/.test(message)) {
    return toError(
      'STORAGE_MISSING',
      `The ${resource} does not exist in ${where}. Check its name, the region and the account, or create it. ${awsMessage}`,
    );
  }
  if (CREDENTIALS.test(name)) {
    return toError(
      'STORAGE_DENIED',
      `The AWS credentials for the ${resource} are missing, wrong or expired. Set AWS_PROFILE or AWS_ACCESS_KEY_ID, or give the function a role. ${awsMessage}`,
    );
  }
  if (DENIED.test(name) || status === 401 || status === 403) {
    return toError(
      'STORAGE_DENIED',
      `Access denied: allow ${actions.join(', ')} on the ${resource} (${where}). ${awsMessage}`,
    );
  }
  if (TOO_LARGE.test(name) || (/Validation/.test(name) && /\bsize\b|exceed/i.test(message))) {
    return toError('RECORD_TOO_LARGE', `The request is too large for the ${resource}. ${awsMessage}`);
  }
  if (/Validation/.test(name) || (status >= 400 && status < 500)) {
    return toError('INVALID_INPUT', `The ${resource} rejected the request. ${awsMessage}`);
  }
  if (/^Checksum mismatch/.test(message)) {
    return toError('DAMAGED', `The ${resource} returned other bytes than were stored. ${awsMessage}`);
  }
  return isAwsError
    ? toError('STORAGE_UNAVAILABLE', `The call to the ${resource} (${where}) failed. ${awsMessage}`)
    : error;
}

async function describeEndpoint(config: unknown): Promise<string> {
  const { region, endpoint } = Object(config) as { region?: Setting<string>; endpoint?: Setting<Endpoint> };
  const resolvedEndpoint = await readSetting(endpoint);
  const regionText = `region ${(await readSetting(region)) ?? 'unknown'}`;
  return resolvedEndpoint
    ? `${regionText} at ${resolvedEndpoint.protocol}//${resolvedEndpoint.hostname}${resolvedEndpoint.port ? `:${resolvedEndpoint.port}` : ''}`
    : regionText;
}

/** A setting of a client; undefined when it cannot be resolved. */
const readSetting = async <T>(setting: Setting<T> | undefined): Promise<T | undefined> => {
  try {
    return await setting?.();
  } catch {
    return undefined;
  }
};

type Setting<T> = () => Promise<T>;

interface Endpoint {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
}
