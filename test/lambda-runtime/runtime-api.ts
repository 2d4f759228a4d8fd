import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** An event for the function, and the headers that come with it. */
interface NextInvocation {
  readonly requestId: string;
  readonly deadline: number;
  readonly arn: string;
  readonly traceId: string;
  readonly event: unknown;
}

/** What the runtime reported about an invocation, or about loading the function. */
export interface Report {
  readonly kind: 'response' | 'error' | 'init error';
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/**
 * Lambda's runtime API for one function: gives it invocations one by one, and receives their results.
 * https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
 */
export async function openRuntimeApi() {
  const waiting: ServerResponse[] = [];
  const queue: NextInvocation[] = [];
  const reports: Report[] = [];
  let onReport = (): void => {};

  const giveNext = (): void => {
    const [invocation, response] = [queue[0], waiting[0]];
    if (!invocation || !response) return;
    queue.shift();
    waiting.shift();
    response
      .writeHead(200, {
        'content-type': 'application/json',
        'lambda-runtime-aws-request-id': invocation.requestId,
        'lambda-runtime-deadline-ms': String(invocation.deadline),
        'lambda-runtime-invoked-function-arn': invocation.arn,
        'lambda-runtime-trace-id': invocation.traceId,
      })
      .end(JSON.stringify(invocation.event));
  };

  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const path = request.url?.replace('/2018-06-01/runtime/', '') ?? '';
    const [, of, kind] = /^(?:invocation\/[^/]+|(init))\/(response|error)$/.exec(path) ?? [];
    if (path === 'invocation/next') {
      waiting.push(response);
      giveNext();
    } else if (kind === 'response' || kind === 'error') {
      const body = JSON.parse(Buffer.concat(pieces).toString() || 'null');
      reports.push({ kind: of ? 'init error' : kind, headers: request.headers, body });
      response.writeHead(202).end();
      onReport();
    } else response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    address: `127.0.0.1:${Object(server.address()).port}`,
    /** Gives an invocation to the function, and resolves with its report. */
    async invoke(invocation: NextInvocation): Promise<Report> {
      const reported = new Promise<void>((resolve) => {
        onReport = resolve;
      });
      queue.push(invocation);
      giveNext();
      if (reports.length === 0) await reported;
      return reports.shift() as Report;
    },
    close(): void {
      server.close();
      server.closeAllConnections();
    },
  };
}
