import type { RunView } from './operator.ts';

/**
 * Why a retry of a FAILED run must fail again with the same code; undefined if it can succeed. A retry replays the
 * recorded results, so an error that follows from them comes again.
 */
export function explainRetry({ status, shredded, error }: Pick<RunView, 'status' | 'shredded' | 'error'>) {
  if (shredded) return 'The key of the run is destroyed, so its steps cannot be read.';
  if (status !== 'FAILED' || error?.failedOperations.length !== 0) return undefined;
  return REASONS[error.code ?? ''];
}

const REASONS: Readonly<Record<string, string>> = {
  SCHEMA_REFUSED: 'A value does not match the schema of the agent, and a retry has the same value.',
  STEP_MISMATCH: 'The code of the agent calls other steps than the recorded ones, and a retry replays the same steps.',
  AGENT_MISUSED: 'The code of the agent uses an operation incorrectly, and a retry runs the same code.',
  UNSUPPORTED_VALUE: 'The agent returns a value that cannot be stored, and a retry returns it again.',
};
