const POLICY = "default-src 'none'; frame-ancestors 'none'";

// Style, script and images of our own and nobody else's; no inline ones at all.
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Puts the headers of every answer: nothing is kept, sniffed, framed, or told to another site. What an answer says itself
 * stays.
 */
export function setSecurityHeaders(
  headers: Headers,
  { path, isHttps }: { readonly path: string; readonly isHttps: boolean },
): void {
  const isPage = headers.get('content-type')?.startsWith('text/html') === true;
  const defaults = {
    'cache-control': 'no-store',
    'content-security-policy': isPage ? PAGE_POLICY : POLICY,
    'x-content-type-options': 'nosniff',
    // A link is a secret: no page that it opens tells another where it came from.
    'referrer-policy': path.startsWith('/approvals') ? 'no-referrer' : 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    ...(isHttps && { 'strict-transport-security': 'max-age=63072000; includeSubDomains' }),
  };
  for (const [name, value] of Object.entries(defaults)) if (!headers.has(name)) headers.set(name, value);
}
