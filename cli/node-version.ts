// Keep in sync with `engines` in package.json and the check in lambda/checkpoints/format/compression.ts.
const MIN_VERSION = [22, 15] as const;

/** The oldest supported version of Node, and how to get one. */
export const NODE = {
  minVersion: MIN_VERSION.join('.'),
  advice: 'Install Node 24 from https://nodejs.org or with your version manager.',
} as const;

/** Whether a version of Node can run Waitstate. */
export function isSupportedNode(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1]);
}
