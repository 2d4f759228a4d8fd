import { WaitstateError } from '../../core/errors.ts';
import { errorDetails, isTransient } from './classify-aws-error.ts';

/** What a call was about, for the message of its error. */
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

/** The error of the ports for what the SDK threw; what is not of the SDK comes back as it is. */
export async function storageError(
  error: unknown,
  { resource, actions }: FailedCall,
  config: unknown,
): Promise<unknown> {
  if (error instanceof WaitstateError) return error;
  const where = await describeEndpoint(config);
  const { name, status, message, aws } = errorDetails(error);
  const awsMessage = `AWS says: ${name}: ${message}`;
  const toError = (code: WaitstateError['code'], text: string) => new WaitstateError(code, text, { cause: error });

  if (status === 507) return toError('STORAGE_FULL', `No space is left for ${resource} (${where}). ${awsMessage}`);
  if (isTransient(error))
    return toError('STORAGE_UNAVAILABLE', `No good answer from ${resource} (${where}); try again later. ${awsMessage}`);
  if (message === 'Region is missing') {
    return toError('STORAGE_MISSING', `No AWS region is set, so ${resource} cannot be found: set AWS_REGION.`);
  }
  if (MISSING.test(name) || /does not have the specified index/.test(message)) {
    return toError(
      'STORAGE_MISSING',
      `There is no ${resource} in ${where}: check name, region and account, or make it. ${awsMessage}`,
    );
  }
  if (CREDENTIALS.test(name)) {
    return toError(
      'STORAGE_DENIED',
      `The AWS credentials for ${resource} are missing, wrong or expired: set AWS_PROFILE or AWS_ACCESS_KEY_ID, or give the function a role. ${awsMessage}`,
    );
  }
  if (DENIED.test(name) || status === 401 || status === 403) {
    return toError(
      'STORAGE_DENIED',
      `Not allowed: allow ${actions.join(', ')} on ${resource} (${where}). ${awsMessage}`,
    );
  }
  if (TOO_LARGE.test(name) || (/Validation/.test(name) && /\bsize\b|exceed/i.test(message))) {
    return toError('RECORD_TOO_LARGE', `Too large for ${resource}. ${awsMessage}`);
  }
  if (/Validation/.test(name) || (status >= 400 && status < 500)) {
    return toError('INVALID_INPUT', `The request on ${resource} was refused. ${awsMessage}`);
  }
  if (/^Checksum mismatch/.test(message)) {
    return toError('DAMAGED', `What came from ${resource} is not what was put. ${awsMessage}`);
  }
  return aws ? toError('STORAGE_UNAVAILABLE', `The call on ${resource} (${where}) failed. ${awsMessage}`) : error;
}

async function describeEndpoint(config: unknown): Promise<string> {
  const { region, endpoint } = Object(config) as { region?: Setting<string>; endpoint?: Setting<Endpoint> };
  const resolvedEndpoint = await readSetting(endpoint);
  const regionText = `region ${(await readSetting(region)) ?? 'unknown'}`;
  return resolvedEndpoint
    ? `${regionText} at ${resolvedEndpoint.protocol}//${resolvedEndpoint.hostname}${resolvedEndpoint.port ? `:${resolvedEndpoint.port}` : ''}`
    : regionText;
}

/** A setting of a client, unless it is what could not be found out. */
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
