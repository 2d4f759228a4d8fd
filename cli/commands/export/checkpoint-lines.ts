import { createHash } from 'node:crypto';
import type { CheckpointSummary } from '../../../lambda/checkpoints/engine.ts';
import { isWaitstateError, RUN_GONE_CODES } from '../../../lambda/core/errors.ts';
import type { CheckpointView, Operator } from '../../../lambda/operator/operator.ts';
import { jsonText } from '../../terminal/json-text.ts';
import type { Progress } from '../../terminal/progress.ts';
import { collectHistory } from '../history.ts';

/** The runs to export, and where to report progress. */
export interface ExportSource {
  readonly operator: Operator;
  readonly runs: readonly string[];
  readonly progress: Progress;
  /** Called for runs that were deleted since they were listed, or whose key was destroyed. */
  onSkipped(run: string): void;
}

/** The version of the export format. */
export const EXPORT_FORMAT = 1;

// Enough to hide the latency of the storage, and few enough that large states fit into memory.
const CONCURRENCY = 4;

/**
 * The lines of an export: a header, each run with its checkpoints and their states, and a last line with the counts and
 * the SHA-256 of all previous lines, which reveals a file that was cut or changed.
 */
export async function* checkpointLines({ operator, runs, progress, onSkipped }: ExportSource): AsyncGenerator<object> {
  const hash = createHash('sha256');
  let checkpoints = 0;
  let exported = 0;
  const hashed = <T extends object>(line: T): T => {
    hash.update(`${jsonText(line)}\n`);
    return line;
  };
  yield hashed({ type: 'export', format: EXPORT_FORMAT, tenant: operator.tenant, exportedAt: new Date() });
  for (const [index, run] of runs.entries()) {
    const found = await unlessGone(() => operator.run(run));
    if (!found) {
      onSkipped(run);
      continue;
    }
    exported += 1;
    yield hashed({ type: 'run', ...found });
    const history = await collectHistory(operator, run, { to: found.version }, Infinity);
    for await (const checkpoint of readContents(operator, history.checkpoints)) {
      yield hashed({ type: 'checkpoint', ...checkpoint });
      checkpoints += 1;
      if (runs.length === 1) progress.update(checkpoints, found.version, 'checkpoints exported');
      else progress.update(index, runs.length, `runs, ${checkpoints.toLocaleString('en')} checkpoints exported`);
    }
  }
  yield { type: 'end', runs: exported, checkpoints, sha256: hash.digest('hex') };
}

/** Reads the content of checkpoints, in order, a few at a time. A pruned checkpoint is returned as its summary. */
async function* readContents(
  operator: Operator,
  checkpoints: readonly CheckpointSummary[],
): AsyncGenerator<CheckpointSummary | CheckpointView> {
  for (let at = 0; at < checkpoints.length; at += CONCURRENCY)
    yield* await Promise.all(checkpoints.slice(at, at + CONCURRENCY).map((summary) => readContent(operator, summary)));
}

async function readContent(
  operator: Operator,
  summary: CheckpointSummary,
): Promise<CheckpointSummary | CheckpointView> {
  if (summary.pruned) return summary;
  try {
    return await operator.checkpoint(summary.run, summary.version);
  } catch (error) {
    // Pruned since it was listed.
    if (isWaitstateError(error, 'CHECKPOINT_PRUNED')) return { ...summary, pruned: true };
    throw error;
  }
}

/** Reads a run; undefined if it was deleted since it was listed. */
export async function unlessGone<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isWaitstateError(error, ...RUN_GONE_CODES)) return undefined;
    throw error;
  }
}
