// As package.json says under `engines`.
const MIN_VERSION = [22, 15] as const;

/** What Node is needed, and where it is. */
export const NODE = {
  least: MIN_VERSION.join('.'),
  mend: 'Install Node 24 from https://nodejs.org, or by your version manager.',
} as const;

/** Whether a version of Node can run Waitstate. */
export function isSupportedNode(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1]);
}
