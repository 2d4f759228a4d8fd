import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Holdpoint } from '../infra/index.ts';

/** Looks at a Holdpoint as it is without options, in a stack that is never deployed; its handlers are not bundled. */
export function withHoldpoint<T>(look: (hold: Holdpoint) => T): T {
  const outdir = mkdtempSync(join(tmpdir(), 'holdpoint-bench-'));
  try {
    const app = new App({ outdir, analyticsReporting: false, context: { 'aws:cdk:bundling-stacks': [] } });
    return look(new Holdpoint(new Stack(app, 'Stack'), 'Holdpoint'));
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}
