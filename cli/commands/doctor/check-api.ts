import { createSigner } from '../console/signing.ts';
import { errorSummary, type Finding, fail, ok, warn } from './finding.ts';

const TIMEOUT_MS = 10_000;

/** Checks the API: it responds, it rejects requests without credentials, and it accepts yours. */
export async function* checkApi(apiUrl: string): AsyncGenerator<Finding> {
  const url = `${apiUrl.replace(/\/+$/, '')}/api/runs?limit=1`;
  try {
    const unsignedStatus = await statusOf(url, {});
    if (unsignedStatus < 400) {
      yield fail(
        'api',
        `${apiUrl} accepts requests without credentials`,
        'Add an authorizer (IAM or JWT) to every route except /approvals.',
      );
      return;
    }
    if (unsignedStatus === 404)
      yield fail('api', `${apiUrl} has no /api/runs`, 'Check the stack output WaitstateApiUrl; it may lack the stage.');
    else yield ok('api', `${apiUrl} responds, and requires credentials`);
    if (unsignedStatus !== 404) yield await signedAccessFinding(url);
  } catch (error) {
    yield fail(
      'api',
      `${apiUrl} does not respond: ${errorSummary((error as Error).cause ?? error)}`,
      'Check the URL, the network, and whether the stack is deployed.',
    );
  }
}

async function signedAccessFinding(url: string): Promise<Finding> {
  const sign = await createSigner(url);
  const headers = Object.fromEntries(await sign({ url, method: 'GET', body: undefined }));
  const status = await statusOf(url, headers);
  if (status < 400) return ok('api access', 'it accepts your credentials');
  const advice =
    'Allow execute-api:Invoke on the API, and give your IAM role one of its roles (viewer, approver, operator, starter, worker).';
  return status >= 500
    ? fail('api access', `it responds with status ${status}`, 'Check the logs of its Lambda function.')
    : warn('api access', `it rejects your credentials with status ${status}`, advice);
}

async function statusOf(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
  await response.body?.cancel();
  return response.status;
}
