import type { Service } from './service.ts';

/** Invokes functions of the account. */
export interface Invoker {
  arnOf(name: string): string;
  /** Queues an asynchronous invocation. */
  later(name: string, event: unknown): void;
  /** Invokes a function and returns its result or its error. */
  now(name: string, event: unknown): Promise<{ readonly result?: unknown; readonly error?: unknown }>;
}

/** The Invoke API of Lambda. */
export function lambda({ arnOf, later, now }: Invoker): Service {
  const nameOf = (pathname: string): string => {
    const [, name] = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(pathname) ?? [];
    if (name === undefined) throw new Error(`Lambda ${pathname} is not implemented.`);
    return decodeURIComponent(name).replace(/^arn:.*:function:/, '');
  };
  return {
    wanted: ({ url }) => [{ action: 'lambda:InvokeFunction', resource: arnOf(nameOf(url.pathname)) }],
    async respond({ url, headers, body }) {
      const name = nameOf(url.pathname);
      const event = JSON.parse(body.toString());
      if (headers['x-amz-invocation-type'] === 'Event') {
        later(name, event);
        return { status: 202, body: '' };
      }
      const { result, error } = await now(name, event);
      const failed: Record<string, string> = error ? { 'x-amz-function-error': 'Unhandled' } : {};
      return { status: 200, headers: failed, body: JSON.stringify(error ?? result ?? null) };
    },
    denied: (message) => ({
      status: 403,
      headers: { 'x-amzn-errortype': 'AccessDeniedException', 'content-type': 'application/json' },
      body: JSON.stringify({ Message: message }),
    }),
  };
}
