import { AwsV4Signer } from 'aws4fetch';

/** The region and credentials to sign with. */
export interface Signing {
  readonly region: string;
  readonly credentials: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string | undefined;
  };
}

export interface Call {
  readonly service: 'sts' | 'ssm' | 'sqs';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Calls an AWS service for which no client is installed, at the endpoint that the SDK would use. */
export async function signedCall(
  { region, credentials }: Signing,
  { service, headers, body }: Call,
): Promise<Response> {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const url = endpointOf(service, region);
  const signer = new AwsV4Signer({
    url,
    method: 'POST',
    headers: { ...headers },
    body,
    accessKeyId,
    secretAccessKey,
    region,
    service,
    ...(sessionToken !== undefined && { sessionToken }),
  });
  const signed = await signer.sign();
  return fetch(url, { method: 'POST', headers: signed.headers, body, signal: AbortSignal.timeout(30_000) });
}

function endpointOf(service: Call['service'], region: string): string {
  const { [`AWS_ENDPOINT_URL_${service.toUpperCase()}`]: own, AWS_ENDPOINT_URL: all } = process.env;
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  return own || all || `https://${service}.${region}.${suffix}`;
}
