import { StaleVersionError } from '../checkpoints/stale-version-error.ts';
import { type ErrorCode, isWaitstateError } from '../core/errors.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { HTTP_STATUS } from './http-status.ts';

/** What went wrong, beside the codes of errors: what only HTTP knows. */
export type ProblemCode =
  | ErrorCode
  /** Nobody trusted says who calls. */
  | 'NOT_AUTHENTICATED'
  /** The caller has no role for this. */
  | 'NOT_ALLOWED'
  /** There is nothing at this path. */
  | 'ROUTE_NOT_FOUND'
  /** The path takes other methods. */
  | 'METHOD_NOT_ALLOWED'
  /** The document has nothing at the path that was asked for. */
  | 'PART_NOT_FOUND'
  /** The body did not come in time. */
  | 'BODY_TIMED_OUT'
  /** Body, URL or answer are larger than anybody needs. */
  | 'TOO_LARGE'
  /** The body is of a type that is not read here. */
  | 'UNSUPPORTED_TYPE'
  /** What is saved must say what it goes on from. */
  | 'PRECONDITION_REQUIRED'
  /** Something that nobody thought of. */
  | 'UNEXPECTED';

/** One thing that is wrong with a request. */
export interface FieldError {
  /** Where, as a JSON pointer into the body or the name of a parameter. */
  readonly path: string;
  readonly detail: string;
}

/** What went wrong, for programs and people. https://www.rfc-editor.org/rfc/rfc9457 */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ProblemCode;
  readonly errors?: readonly FieldError[];
  /** What is there, where something else was expected. */
  readonly found?: { readonly version: number; readonly status?: string };
}

interface HttpErrorOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly errors?: readonly FieldError[];
  readonly found?: Problem['found'];
}

/** A refusal that HTTP has a status of its own for. */
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

const INSIDE = 'Something went wrong here. What was asked for may have been done or not: look, then try again.';

/** What is answered when something was thrown. Of what went wrong inside it tells nothing: that is for the log. */
export function toProblem(error: unknown): Problem {
  if (error instanceof HttpError) {
    const { status, code, message, errors, found } = error;
    return problem(status, code, message, { errors, found });
  }
  const status = isWaitstateError(error) ? HTTP_STATUS[error.code] : undefined;
  if (status === undefined || !isWaitstateError(error)) return problem(500, 'UNEXPECTED', INSIDE);
  const there = error instanceof StaleVersionError ? error.found : undefined;
  const found = there && { version: there.version, status: there.status };
  return problem(status, error.code, status >= 500 ? INSIDE : error.message, { found });
}

const problem = (
  status: number,
  code: ProblemCode,
  detail: string,
  { errors, found }: { errors?: Problem['errors'] | undefined; found?: Problem['found'] | undefined } = {},
): Problem => ({
  type: `urn:waitstate:${code}`,
  title: titleOf(code),
  ...{ status, detail, code },
  ...omitUndefined({ errors, found }),
});

const titleOf = (code: ProblemCode): string => {
  const words = code.toLowerCase().replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
};
