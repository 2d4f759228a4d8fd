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
  const where = await whereabouts(config);
  const { name, status, message, aws } = errorDetails(error);
  const said = `AWS says: ${name}: ${message}`;
  const made = (code: WaitstateError['code'], text: string) => new WaitstateError(code, text, { cause: error });

  if (status === 507) return made('STORAGE_FULL', `No space is left for ${resource} (${where}). ${said}`);
  if (isTransient(error))
    return made('STORAGE_UNAVAILABLE', `No good answer from ${resource} (${where}); try again later. ${said}`);
  if (message === 'Region is missing') {
    return made('STORAGE_MISSING', `No AWS region is set, so ${resource} cannot be found: set AWS_REGION.`);
  }
  if (MISSING.test(name) || /does not have the specified index/.test(message)) {
    return made(
      'STORAGE_MISSING',
      `There is no ${resource} in ${where}: check name, region and account, or make it. ${said}`,
    );
  }
  if (CREDENTIALS.test(name)) {
    return made(
      'STORAGE_DENIED',
      `The AWS credentials for ${resource} are missing, wrong or expired: set AWS_PROFILE or AWS_ACCESS_KEY_ID, or give the function a role. ${said}`,
    );
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

async function whereabouts(config: unknown): Promise<string> {
  const { region, endpoint } = Object(config) as { region?: Setting<string>; endpoint?: Setting<Endpoint> };
  const at = await settled(endpoint);
  const named = `region ${(await settled(region)) ?? 'unknown'}`;
  return at ? `${named} at ${at.protocol}//${at.hostname}${at.port ? `:${at.port}` : ''}` : named;
}

/** A setting of a client, unless it is what could not be found out. */
const settled = async <T>(setting: Setting<T> | undefined): Promise<T | undefined> => {
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
