import { type Finding, fail, ok } from './finding.ts';

// As package.json says under `engines`.
const LEAST: readonly [major: number, minor: number] = [22, 15];

/** Whether this Node can run Holdpoint. */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isEnough = major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1]);
  if (isEnough) return ok('node', version);
  return fail(
    'node',
    `${version}, and ${LEAST.join('.')} is needed`,
    'Install Node 24 from https://nodejs.org, or by your version manager.',
  );
}
