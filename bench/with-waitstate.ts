import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Waitstate } from '../infra/index.ts';

/** Calls `inspect` with a Waitstate construct without options, in a stack that is never deployed or bundled. */
export function withWaitstate<T>(inspect: (waitstate: Waitstate) => T): T {
  const outdir = mkdtempSync(join(tmpdir(), 'waitstate-bench-'));
  try {
    const app = new App({ outdir, analyticsReporting: false, context: { 'aws:cdk:bundling-stacks': [] } });
    return inspect(new Waitstate(new Stack(app, 'Stack'), 'Waitstate'));
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}
