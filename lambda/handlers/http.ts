import { HoldpointError, isHoldpointError } from '../core/errors.ts';
import { refused } from '../core/input.ts';
import { HTTP_STATUS } from '../api/http-status.ts';

/** A request as an HTTP API of API Gateway passes it on, payload format 2.0. */
export interface HttpEvent {
  readonly rawPath?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly pathParameters?: Readonly<Record<string, string | undefined>>;
  readonly requestContext?: { readonly http?: { readonly method?: string } };
  readonly body?: string | null;
  readonly isBase64Encoded?: boolean;
}

/** What is answered. */
export interface HttpAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

// A link is a secret: nobody keeps what it opens, and no page tells another where it came from.
const HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

/** An answer of JSON. */
export const answer = (statusCode: number, value: unknown, headers: Readonly<Record<string, string>> = {}) => ({
  statusCode,
  headers: { ...HEADERS, 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
});

/** What went wrong, for programs and people. https://www.rfc-editor.org/rfc/rfc9457 */
export function problem(error: HoldpointError, status = HTTP_STATUS[error.code], headers = {}): HttpAnswer {
  const { code } = error;
  // What went wrong inside is for the log.
  const detail = status >= 500 ? 'Something went wrong here. Nothing was changed; try again later.' : error.message;
  const title = code.toLowerCase().replaceAll('_', ' ');
  return answer(status, { title, status, detail, code }, { 'content-type': 'application/problem+json', ...headers });
}

/** The error itself, or one that says nothing, when it is not one of ours. */
export const asOurs = (error: unknown): HoldpointError =>
  isHoldpointError(error) && Object.hasOwn(HTTP_STATUS, error.code)
    ? error
    : new HoldpointError('STORAGE_UNAVAILABLE', 'Something unexpected went wrong.', { cause: error });

/** A body that is larger than anybody needs. */
export class TooLarge extends Error {}

/** The fields of a body of JSON or of a form. */
export function readFields(event: HttpEvent, mostBytes: number): Readonly<Record<string, unknown>> {
  const bytes = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8');
  if (bytes.length > mostBytes) throw new TooLarge();
  const [type = ''] = (event.headers?.['content-type'] ?? 'application/json').toLowerCase().split(';');
  if (type.trim() === 'application/x-www-form-urlencoded') return formFields(bytes.toString());
  if (type.trim() !== 'application/json')
    throw refused('The content type', 'application/json or application/x-www-form-urlencoded', type);
  const value = parsed('The body', bytes.toString());
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refused('The body', 'a JSON object', value);
  return value as Record<string, unknown>;
}

/** An empty field of a form is one that nobody filled in; edits are JSON in it. */
function formFields(text: string): Readonly<Record<string, unknown>> {
  const fields = [...new URLSearchParams(text)].filter(([, value]) => value !== '');
  return Object.fromEntries(fields.map(([name, value]) => [name, name === 'edits' ? parsed('`edits`', value) : value]));
}

function parsed(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refused(what, 'JSON', text);
  }
}
