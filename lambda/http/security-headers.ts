const DEFAULT_POLICY = "default-src 'none'; frame-ancestors 'none'";

// Only styles, scripts and images from this origin, and none inline.
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

/** Sets the security headers of a response: no caching, sniffing, framing or referrers. Headers already set stay. */
export function setSecurityHeaders(
  headers: Headers,
  { path, isHttps }: { readonly path: string; readonly isHttps: boolean },
): void {
  const isPage = headers.get('content-type')?.startsWith('text/html') === true;
  const defaults = {
    'cache-control': 'no-store',
    'content-security-policy': isPage ? PAGE_POLICY : DEFAULT_POLICY,
    'x-content-type-options': 'nosniff',
    // An approval link is a secret: its page must not send it to other sites as the referrer.
    'referrer-policy': path.startsWith('/approvals') ? 'no-referrer' : 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    ...(isHttps && { 'strict-transport-security': 'max-age=63072000; includeSubDomains' }),
  };
  for (const [name, value] of Object.entries(defaults)) if (!headers.has(name)) headers.set(name, value);
}
