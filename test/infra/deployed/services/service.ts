import type { AccessRequest } from '../policy.ts';

/** A request to AWS, as the SDK sends it. */
export interface Call {
  readonly method: string;
  /** Path and query. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface ServiceResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** A simulated AWS service. */
export interface Service {
  /** The IAM actions that a call requires. Throws if the call is not implemented. */
  wanted(call: Call): readonly AccessRequest[];
  /** Performs the call. `isAllowed` returns whether the caller may perform another action. */
  respond(call: Call, isAllowed: (wanted: AccessRequest) => boolean): Promise<ServiceResponse>;
  /** The access-denied response of this service. */
  denied(message: string): ServiceResponse;
}

/** The operation of a request in one of the JSON protocols. */
export const operationOf = ({ headers }: Call): string => headers['x-amz-target']?.split('.')[1] ?? '';

/** The input of a request in one of the JSON protocols. */
export const inputOf = <Input>({ body }: Call): Input => JSON.parse(body.toString());

export const json = (content: unknown, status = 200): ServiceResponse => ({
  status,
  headers: { 'content-type': 'application/x-amz-json-1.1' },
  body: JSON.stringify(content),
});

/** An error in the JSON protocols. */
export const jsonError = (type: string, message: string, status = 400): ServiceResponse => ({
  ...json({ __type: type, message }, status),
});

/** The KMS actions that a service performs on behalf of its caller. */
export const viaService = (
  key: string,
  service: string,
  region: string,
  ...actions: string[]
): readonly AccessRequest[] =>
  actions.map((action) => ({
    action: `kms:${action}`,
    resource: key,
    context: { 'kms:ViaService': [`${service}.${region}.amazonaws.com`] },
  }));
