/**
 * Whether a text is an origin exactly as browsers send it, such as https://portal.example.com. Any other spelling would
 * never match a request.
 */
export function isOrigin(text: string): boolean {
  const { protocol = '', origin = '' } = URL.parse(text) ?? {};
  return /^https?:$/.test(protocol) && origin === text;
}
