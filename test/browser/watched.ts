import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';

/** A browser context that records every problem of its pages. */
export interface Watched {
  readonly context: BrowserContext;
  /** The problems so far. */
  readonly problems: string[];
}

export interface WatchOptions extends BrowserContextOptions {
  /** Error statuses that a test expects, such as 409, which the browser reports in its console. */
  readonly refusals?: readonly number[];
  /** Whether the test cuts the connection, which the browser reports too. */
  readonly goesOffline?: boolean;
}

/** The global function that hostile texts call; a call means that a page executed stored text. */
export const HOOK = '__xss';

const DEFAULTS = { viewport: { width: 1280, height: 900 }, locale: 'en-GB', timezoneId: 'UTC' };

/**
 * Records console errors and warnings, uncaught errors, violations of the content security policy, dialogs, calls of the
 * hook, and requests that leave this machine or send an approval link as the referrer.
 */
export async function watch(
  browser: Browser,
  { refusals = [], goesOffline = false, ...options }: WatchOptions = {},
): Promise<Watched> {
  const problems: string[] = [];
  const report = (problem: string): void => {
    if (!problems.includes(problem)) problems.push(problem);
  };
  const context = await browser.newContext({ ...DEFAULTS, ...options });
  context.setDefaultTimeout(60_000);
  const expected = [
    ...refusals.map((status) => `the server responded with a status of ${status}`),
    ...(goesOffline ? ['net::ERR_'] : []),
  ];
  context.on('console', (message) => {
    const text = message.text();
    if (!['error', 'warning'].includes(message.type()) || expected.some((part) => text.includes(part))) return;
    report(`The console says: ${text} (${message.location().url})`);
  });
  context.on('weberror', (event) => report(`A script threw: ${event.error().message}`));
  context.on('dialog', (dialog) => {
    report(`A dialog loaded: ${dialog.message()}`);
    dialog.dismiss().catch(() => undefined);
  });
  context.on('request', (request) => {
    const { referer = '' } = request.headers();
    if (!staysHere(new URL(request.url()))) report(`A request left this machine: ${request.url()}`);
    if (isSecret(referer)) report(`A request to ${request.url()} tells where it came from: ${referer}`);
  });
  await context.exposeFunction(HOOK, (from: unknown) => report(`A stored text ran as a script: ${from}`));
  await context.exposeFunction('__stopped', (what: unknown) => report(`The policy stopped ${what}`));
  await context.addInitScript(`addEventListener('securitypolicyviolation', (event) => {
    __stopped(event.violatedDirective + ' of ' + (event.blockedURI || event.sourceFile) + ' ' + event.sample);
  }, true)`);
  return { context, problems };
}

const staysHere = ({ protocol, hostname }: URL): boolean =>
  ['data:', 'blob:', 'about:'].includes(protocol) || hostname === '127.0.0.1';

/** Whether a URL is a credential: an approval link, or one with the key of the server. */
const isSecret = (url: string): boolean => /^http:\/\/[^/]+\/approvals\/(?!assets\/)|[?&]key=/.test(url);
