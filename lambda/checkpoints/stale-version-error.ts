import { WaitstateError } from '../core/errors.ts';
import type { CheckpointSummary } from './checkpoint.ts';

/** Another writer already wrote this version. Nothing was changed. */
export class StaleVersionError extends WaitstateError {
  override readonly name = 'StaleVersionError';
  readonly run: string;
  readonly expectedVersion: number;
  /** The checkpoint that exists instead; undefined when there is none. */
  readonly found: CheckpointSummary | undefined;

  constructor(run: string, expectedVersion: number, found: CheckpointSummary | undefined) {
    super('STALE_VERSION', explain(run, expectedVersion, found), { scope: 'invocation' });
    this.run = run;
    this.expectedVersion = expectedVersion;
    this.found = found;
  }
}

function explain(run: string, expected: number, found: CheckpointSummary | undefined): string {
  if (!found) return `Run "${run}" has no checkpoint ${expected} to follow. Load the run first.`;
  const current = `version ${found.version} (${found.step ? `step "${found.step}", ` : ''}written ${found.savedAt.toISOString()} by ${found.writer})`;
  if (expected === 0)
    return `Run "${run}" already exists at ${current}. Load it, and pass the checkpoint as \`expectedVersion\`.`;
  const other = found.version === expected ? ' of an earlier run with this id' : '';
  return `Expected run "${run}" to be at version ${expected}${other}; found ${current}. Load it again, or use \`update\`, which retries.`;
}
