/** An error response of the API. */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  /** The HTTP status. */
  readonly status: number;
  /** The code of the problem, such as `RUN_NOT_FOUND`; undefined if the response is not from Waitstate. */
  readonly code: string | undefined;

  constructor(status: number, code: string | undefined, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Throws the problem of a response that is not successful. */
export async function requireOk(response: Response): Promise<Response> {
  if (response.ok) return response;
  const body: unknown = await response.json().catch(() => undefined);
  const { code, detail } = Object(body) as { readonly code?: unknown; readonly detail?: unknown };
  throw new ClientError(
    response.status,
    typeof code === 'string' ? code : undefined,
    typeof detail === 'string' ? detail : `The server responded with status ${response.status}.`,
  );
}
