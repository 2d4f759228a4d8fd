import { WaitstateError } from '../core/errors.ts';
import type { CheckpointSummary } from './checkpoint.ts';

/** Somebody else wrote the version that was to be written; nothing of theirs was changed. */
export class StaleVersionError extends WaitstateError {
  override readonly name = 'StaleVersionError';
  readonly run: string;
  readonly expectedVersion: number;
  /** What is there instead; absent when there is nothing. */
  readonly found: CheckpointSummary | undefined;

  constructor(run: string, expectedVersion: number, found: CheckpointSummary | undefined) {
    super('STALE_VERSION', explain(run, expectedVersion, found), { scope: 'invocation' });
    this.run = run;
    this.expectedVersion = expectedVersion;
    this.found = found;
  }
}

function explain(run: string, expected: number, found: CheckpointSummary | undefined): string {
  if (!found) return `Run "${run}" has no checkpoint ${expected}, so nothing can follow it. Load it first.`;
  const current = `version ${found.version} (${found.step ? `step "${found.step}", ` : ''}written ${found.savedAt.toISOString()} by ${found.writer})`;
  if (expected === 0)
    return `Run "${run}" exists already: it has ${current}. Load it, and pass what was loaded as \`expectedVersion\`.`;
  const other = found.version === expected ? ' of another run or another life of it' : '';
  return `Expected run "${run}" to be at version ${expected}${other}, found ${current}. Load it and try again, or use \`update\`, which does.`;
}
