import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The AWS access key that signatures are checked against. */
export interface AwsKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/**
 * Why AWS would reject the signature of a request; undefined if it would accept it.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function signatureProblem(
  request: IncomingMessage,
  body: Buffer,
  key: AwsKey,
  region: string,
  expected = 'execute-api',
): string | undefined {
  const { authorization = '' } = request.headers;
  const parts =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8}\/([\w-]+)\/([\w-]+)\/aws4_request), SignedHeaders=([\w;-]+), Signature=(\w{64})$/.exec(
      authorization,
    );
  if (!parts) return `no signature: ${authorization}`;
  const [, id, scope = '', signedRegion, service, names = '', signature] = parts;
  if (id !== key.accessKeyId || signedRegion !== region || service !== expected) return `signed for ${id}/${scope}`;
  const time = String(request.headers['x-amz-date']);
  if (!/^\d{8}T\d{6}Z$/.test(time) || !time.startsWith(scope.slice(0, 8))) return `signed at ${time}`;
  if (request.headers['x-amz-security-token'] !== key.sessionToken) return 'another session';
  const signed = names.split(';');
  if (!signed.includes('host') || !signed.includes('x-amz-date')) return `signed headers are ${names}`;
  const right = hmac(
    signingKey(key, scope),
    ['AWS4-HMAC-SHA256', time, scope, sha256(canonical(request, body, signed))].join('\n'),
  );
  return right.toString('hex') === signature ? undefined : 'the signature does not match';
}

function canonical({ method, url = '', headers }: IncomingMessage, body: Buffer, signed: readonly string[]): string {
  const { pathname, searchParams } = new URL(url, 'http://host');
  const query = [...searchParams].map((pair) => pair.map(encoded).join('=')).sort();
  const lines = signed.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}`);
  // Every service except S3 encodes the path twice.
  const path = pathname.split('/').map(encoded).join('/');
  return [method, path, query.join('&'), ...lines, '', signed.join(';'), sha256(body)].join('\n');
}

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

const signingKey = ({ secretAccessKey }: AwsKey, scope: string): Buffer =>
  scope.split('/').reduce<Buffer>((key, part) => hmac(key, part), Buffer.from(`AWS4${secretAccessKey}`));

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');
