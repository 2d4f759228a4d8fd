import { createSigner } from '../console/signing.ts';
import { errorSummary, type Finding, fail, ok, warn } from './finding.ts';

const TIMEOUT_MS = 10_000;

/** Looks at the API: that it answers, that it answers nobody without credentials, and that it answers us. */
export async function* checkApi(apiUrl: string): AsyncGenerator<Finding> {
  const url = `${apiUrl.replace(/\/+$/, '')}/api/runs?limit=1`;
  try {
    const unsignedStatus = await statusOf(url, {});
    if (unsignedStatus < 400) {
      yield fail(
        'api',
        `${apiUrl} answers without credentials`,
        'Put an authorizer (IAM or JWT) before every route but /approvals.',
      );
      return;
    }
    if (unsignedStatus === 404)
      yield fail('api', `${apiUrl} has no /api/runs`, 'Check the output WaitstateApiUrl: with or without a stage?');
    else yield ok('api', `${apiUrl} answers, and asks for credentials`);
    if (unsignedStatus !== 404) yield await signedAccessFinding(url);
  } catch (error) {
    yield fail(
      'api',
      `${apiUrl} does not answer: ${errorSummary((error as Error).cause ?? error)}`,
      'Check the URL and the network; is the stack deployed?',
    );
  }
}

async function signedAccessFinding(url: string): Promise<Finding> {
  const sign = await createSigner(url);
  const headers = Object.fromEntries(await sign({ url, method: 'GET', body: undefined }));
  const status = await statusOf(url, headers);
  if (status < 400) return ok('api rights', 'it answers you');
  const advice =
    'Allow execute-api:Invoke on the API; and see that your role has one of its roles (viewer, approver, operator, starter).';
  return status >= 500
    ? fail('api rights', `it answers ${status}`, 'Look into the log of its function.')
    : warn('api rights', `it answers you ${status}`, advice);
}

async function statusOf(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
  await response.body?.cancel();
  return response.status;
}
