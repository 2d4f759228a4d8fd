/**
 * Whether a text is an origin as a browser sends it, such as https://portal.example.com. That is one form only, so that one
 * that is written otherwise would let nobody in.
 */
export function isOrigin(text: string): boolean {
  const { protocol = '', origin = '' } = URL.parse(text) ?? {};
  return /^https?:$/.test(protocol) && origin === text;
}
