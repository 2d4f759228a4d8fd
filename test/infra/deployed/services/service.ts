import type { AccessRequest } from '../policy.ts';

/** A request to AWS, as the SDK sends it. */
export interface Call {
  readonly method: string;
  /** Path and query. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** A service of AWS. */
export interface Service {
  /** What a request wants to do, in the words of IAM. Throws for what nobody thought of. */
  wanted(call: Call): readonly AccessRequest[];
  /** Does it. `may` says whether who asks may do something else, too. */
  answer(call: Call, may: (wanted: AccessRequest) => boolean): Promise<Answer>;
  /** Says no, in the form in which this service does. */
  denied(message: string): Answer;
}

/** The operation of a request in one of the JSON protocols. */
export const operationOf = ({ headers }: Call): string => headers['x-amz-target']?.split('.')[1] ?? '';

/** What a request in one of the JSON protocols says. */
export const inputOf = <Input>({ body }: Call): Input => JSON.parse(body.toString());

export const json = (content: unknown, status = 200): Answer => ({
  status,
  headers: { 'content-type': 'application/x-amz-json-1.1' },
  body: JSON.stringify(content),
});

/** A refusal in the JSON protocols. */
export const jsonError = (type: string, message: string, status = 400): Answer => ({
  ...json({ __type: type, message }, status),
});

/** What KMS has to allow where a service uses a key in the name of who calls it. */
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
