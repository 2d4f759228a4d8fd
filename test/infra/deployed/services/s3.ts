import type { AccessRequest } from '../policy.ts';
import { type Engine, forward } from './forward.ts';
import { type Call, type Service, type ServiceResponse, viaService } from './service.ts';

/** Buckets by name, with the customer managed key that encrypts each. */
export type Buckets = ReadonlyMap<string, { readonly kmsKey: string | undefined }>;

/**
 * S3 with access checks, on a local engine. The bucket is in the path, as the SDK sends it for an IP address.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html
 */
export function s3(engine: Engine, buckets: Buckets, region: string): Service {
  const objectOf = ({ url }: Call) => {
    const [bucket = '', ...path] = url.pathname.slice(1).split('/').map(decodeURIComponent);
    return { bucket, key: path.join('/') };
  };
  const onObject = (bucket: string, key: string, ...actions: string[]): readonly AccessRequest[] =>
    actions.map((action) => ({ action: `s3:${action}`, resource: `arn:aws:s3:::${bucket}/${key}` }));
  const onBucket = (bucket: string, prefix: string | null): AccessRequest => ({
    action: 's3:ListBucket',
    resource: `arn:aws:s3:::${bucket}`,
    ...(prefix !== null && { context: { 's3:prefix': [prefix] } }),
  });

  function ofObject(call: Call, bucket: string, key: string): readonly AccessRequest[] {
    const { method, url, headers } = call;
    const kmsKey = buckets.get(bucket)?.kmsKey;
    const keyed = (...actions: string[]) => (kmsKey === undefined ? [] : viaService(kmsKey, 's3', region, ...actions));
    if (method === 'GET' || method === 'HEAD') return [...onObject(bucket, key, 'GetObject'), ...keyed('Decrypt')];
    if (method === 'DELETE' && url.searchParams.has('uploadId')) return onObject(bucket, key, 'AbortMultipartUpload');
    if (method === 'DELETE') return onObject(bucket, key, 'DeleteObject');
    if (method !== 'PUT' && !url.searchParams.has('uploads') && !url.searchParams.has('uploadId')) return [];
    const [from = '', ...path] = decodeURIComponent(headers['x-amz-copy-source'] ?? '')
      .replace(/^\//, '')
      .split('/');
    const isParts = url.searchParams.has('uploads') || url.searchParams.has('uploadId');
    return [
      ...onObject(bucket, key, 'PutObject'),
      ...keyed('GenerateDataKey', ...(isParts || from ? ['Decrypt'] : [])),
      ...(from ? onObject(from, path.join('/'), 'GetObject') : []),
    ];
  }

  function ofBucket({ method, url, body }: Call, bucket: string): readonly AccessRequest[] {
    if (method === 'GET' && url.searchParams.get('list-type') === '2')
      return [onBucket(bucket, url.searchParams.get('prefix'))];
    if (method === 'POST' && url.searchParams.has('delete'))
      return [...body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)].flatMap(([, key = '']) =>
        onObject(bucket, key, 'DeleteObject'),
      );
    return [];
  }

  const denied = (message: string): ServiceResponse => ({
    status: 403,
    headers: { 'content-type': 'application/xml' },
    body: `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code><Message>${message}</Message></Error>`,
  });

  return {
    wanted(call) {
      const { bucket, key } = objectOf(call);
      const wants = key === '' ? ofBucket(call, bucket) : ofObject(call, bucket, key);
      if (wants.length === 0)
        throw new Error(`S3 ${call.method} ${call.url.search} is not implemented in services/s3.ts.`);
      return wants;
    },
    async respond(call, isAllowed) {
      const response = await forward(engine, 's3', call);
      // Without s3:ListBucket, S3 returns 403 instead of 404. A request for an object has no prefix.
      const isHidden =
        response.status === 404 && objectOf(call).key !== '' && !isAllowed(onBucket(objectOf(call).bucket, null));
      return isHidden ? denied('Access Denied') : response;
    },
    denied,
  };
}
