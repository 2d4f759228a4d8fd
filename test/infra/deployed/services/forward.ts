import { request } from 'node:http';
import { AwsV4Signer } from 'aws4fetch';
import type { Call, ServiceResponse } from './service.ts';

/** A local engine and its credentials. */
export interface Engine {
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const SIGNATURE = /^(authorization|host|connection|content-length|x-amz-security-token|x-amz-date)$/;

/** Forwards a call to an engine with a new signature, since engines do not know the roles of the account. */
export async function forward(
  engine: Engine,
  service: string,
  { method, url, headers, body }: Call,
): Promise<ServiceResponse> {
  const at = new URL(url.pathname + url.search, engine.endpoint);
  for (const name of [...at.searchParams.keys()])
    if (/^X-Amz-(?!Content|Checksum)/.test(name)) at.searchParams.delete(name);
  const kept = Object.entries(headers).filter(([name]) => !SIGNATURE.test(name));
  const { accessKeyId, secretAccessKey, region } = engine;
  const signer = new AwsV4Signer({
    method,
    url: at.href,
    headers: Object.fromEntries(kept),
    accessKeyId,
    secretAccessKey,
    service,
    region,
    ...(body.length > 0 && { body: new Uint8Array(body) }),
  });
  const signed = await signer.sign();
  return new Promise((resolve, reject) => {
    const sending = request(
      signed.url,
      { method, headers: { ...Object.fromEntries(signed.headers), 'content-length': String(body.length) } },
      async (response) => {
        try {
          const pieces: Buffer[] = [];
          for await (const piece of response) pieces.push(piece);
          resolve({
            status: response.statusCode ?? 500,
            headers: plain(response.headers),
            body: Buffer.concat(pieces),
          });
        } catch (error) {
          reject(error);
        }
      },
    );
    sending.on('error', reject).end(body);
  });
}

const plain = (headers: NodeJS.Dict<string | string[]>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !/^(connection|transfer-encoding|content-length|keep-alive)$/.test(name))
      .map(([name, value]) => [name, String(value)]),
  );
