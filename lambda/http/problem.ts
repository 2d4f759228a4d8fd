import { StaleVersionError } from '../checkpoints/engine.ts';
import { NotAnApproverError } from '../core/approval-votes.ts';
import { type ErrorCode, isWaitstateError } from '../core/errors.ts';
import { RefusedValueError } from '../core/forms/refused-value-error.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { HTTP_STATUS } from './http-status.ts';

/** The code of a problem: an error code, or one that only HTTP responses use. */
export type ProblemCode =
  | ErrorCode
  /** No authorizer identified the caller. */
  | 'NOT_AUTHENTICATED'
  /** The caller lacks the role for this request. */
  | 'NOT_ALLOWED'
  /** No route has this path. */
  | 'ROUTE_NOT_FOUND'
  /** The path exists, but not for this method. */
  | 'METHOD_NOT_ALLOWED'
  /** The document has no value at the requested JSON pointer. */
  | 'PART_NOT_FOUND'
  /** The body did not arrive in time. */
  | 'BODY_TIMED_OUT'
  /** The body, the URL or the response exceeds its limit. */
  | 'TOO_LARGE'
  /** The media type of the body is not supported. */
  | 'UNSUPPORTED_TYPE'
  /** A save must name the version that it follows. */
  | 'PRECONDITION_REQUIRED'
  /** An unexpected internal error. */
  | 'UNEXPECTED';

/** One invalid field of a request. */
export interface FieldError {
  /** A JSON pointer into the body, or the name of a parameter. */
  readonly path: string;
  readonly detail: string;
}

/** The body of an error response. https://www.rfc-editor.org/rfc/rfc9457 */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ProblemCode;
  readonly errors?: readonly FieldError[];
  /** The current version, where another one was expected. */
  readonly found?: { readonly version: number; readonly status?: string };
  /** Who can decide the approval; only for callers who can read it. */
  readonly approvers?: readonly string[];
}

interface HttpErrorOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly errors?: readonly FieldError[];
  readonly found?: Problem['found'];
}

/** An error with its own HTTP status. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  readonly code: ProblemCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly errors: readonly FieldError[] | undefined;
  readonly found: Problem['found'];

  constructor(status: number, code: ProblemCode, message: string, options: HttpErrorOptions = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = options.headers ?? {};
    this.errors = options.errors;
    this.found = options.found;
  }
}

const INTERNAL_ERROR_DETAIL =
  'An internal error occurred. The request may or may not have taken effect: check, then try again.';

/**
 * Converts an error to a problem. Details of internal errors stay in the log. `seesApprovers` says whether the reader
 * may know who the approvers of an approval are.
 */
export function toProblem(
  error: unknown,
  { seesApprovers }: { readonly seesApprovers?: boolean | undefined } = {},
): Problem {
  if (error instanceof NotAnApproverError && seesApprovers !== undefined) {
    const { code, approvers, message, discreetMessage } = error;
    if (!seesApprovers) return problem(403, code, discreetMessage);
    return problem(403, code, `${message} Its approvers: ${approvers.join(', ')}.`, { approvers });
  }
  if (error instanceof HttpError) {
    const { status, code, message, errors, found } = error;
    return problem(status, code, message, { errors, found });
  }
  const status = isWaitstateError(error) ? HTTP_STATUS[error.code] : undefined;
  if (status === undefined || !isWaitstateError(error)) return problem(500, 'UNEXPECTED', INTERNAL_ERROR_DETAIL);
  const current = error instanceof StaleVersionError ? error.found : undefined;
  const found = current && { version: current.version, status: current.status };
  const errors = error instanceof RefusedValueError ? fieldErrors(error) : undefined;
  return problem(status, error.code, status >= 500 ? INTERNAL_ERROR_DETAIL : error.message, { errors, found });
}

const fieldErrors = ({ field, problems }: RefusedValueError): readonly FieldError[] =>
  problems.map(({ path, message }) => ({ path: `/${field}${path}`, detail: message }));

const problem = (
  status: number,
  code: ProblemCode,
  detail: string,
  {
    errors,
    found,
    approvers,
  }: { readonly [Field in 'errors' | 'found' | 'approvers']?: Problem[Field] | undefined } = {},
): Problem => ({
  type: `urn:waitstate:${code}`,
  title: toTitle(code),
  status,
  detail,
  code,
  ...omitUndefined({ errors, found, approvers }),
});

const toTitle = (code: ProblemCode): string => {
  const words = code.toLowerCase().replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
};
