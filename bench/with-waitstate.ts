import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Waitstate } from '../infra/index.ts';

/** Looks at a Waitstate as it is without options, in a stack that is never deployed; its handlers are not bundled. */
export function withWaitstate<T>(look: (hold: Waitstate) => T): T {
  const outdir = mkdtempSync(join(tmpdir(), 'waitstate-bench-'));
  try {
    const app = new App({ outdir, analyticsReporting: false, context: { 'aws:cdk:bundling-stacks': [] } });
    return look(new Waitstate(new Stack(app, 'Stack'), 'Waitstate'));
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}
