import type { Verification } from '../../lambda/checkpoints/engine.ts';
import { isWaitstateError, WaitstateError } from '../../lambda/core/errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { CommonOptions, Session } from '../session.ts';
import type { Target } from '../target/target.ts';
import { jsonText } from '../terminal/json-text.ts';
import { bold, dim, type Line, styled } from '../terminal/line.ts';
import { createProgress, type Progress } from '../terminal/progress.ts';
import { wrapLine } from '../terminal/wrap-line.ts';
import { newestVersion } from './history.ts';
import { pluralize } from './output/print-result.ts';
import { collectRuns } from './runs.ts';

export interface VerifyOptions extends CommonOptions {
  readonly all?: boolean;
}

/** Reads whole runs and reports whether they are as they were written. */
export async function verify(session: Session, run: string | undefined, options: VerifyOptions): Promise<ExitCode> {
  const { all = false } = options;
  if ((run === undefined) === !all) throw runOrAllRequired('verify');
  const target = await session.openTarget();
  const progress = createProgress(session.terminal);
  try {
    return run === undefined
      ? await verifyAll(session, target, progress)
      : await verifyOne(session, target, progress, run);
  } finally {
    progress.end();
  }
}

export const runOrAllRequired = (command: string): WaitstateError =>
  new WaitstateError(
    'INVALID_INPUT',
    `Name one run ("waitstate ${command} RUN"), or use --all for every run ("waitstate ${command} --all").`,
  );

async function verifyOne(session: Session, target: Target, progress: Progress, run: string): Promise<ExitCode> {
  const version = await newestVersion(target.operator, run).catch((error) => {
    // Damage is reported by the verification below.
    if (isWaitstateError(error, 'DAMAGED')) return undefined;
    throw error;
  });
  target.watch({
    onRead: (records) => progress.update(records, version, 'checkpoints read'),
    onPayloadOpened: (payloads) => progress.update(payloads, undefined, 'payloads read'),
  });
  const found = await target.store.verify(run);
  await printVerification(session, progress, run, found);
  return found.ok ? EXIT.ok : EXIT.damaged;
}

async function verifyAll(session: Session, target: Target, progress: Progress): Promise<ExitCode> {
  const { found: runs } = await collectRuns(target.operator, {}, Infinity);
  const totals = { damaged: 0, checkpoints: 0, gone: 0 };
  for (const [done, { run }] of runs.entries()) {
    progress.update(done, runs.length, 'runs read');
    try {
      const found = await target.store.verify(run);
      totals.checkpoints += found.checkpoints;
      if (!found.ok) totals.damaged += 1;
      if (!found.ok || session.isJson) await printVerification(session, progress, run, found);
    } catch (error) {
      // Deleted or expired since it was listed.
      if (!isWaitstateError(error, 'RUN_NOT_FOUND', 'RUN_DELETED', 'RUN_EXPIRED')) throw error;
      totals.gone += 1;
    }
  }
  progress.end();
  const { damaged, checkpoints, gone } = totals;
  const intact = runs.length - damaged - gone;
  if (!session.isJson)
    session.terminal.print([
      ...(damaged > 0
        ? [styled('red', '✗ '), styled('red', `${pluralize(damaged, 'run')} damaged, `)]
        : [styled('green', '✓ ')]),
      `${pluralize(intact, 'run')} intact, ${pluralize(checkpoints, 'checkpoint')} read`,
    ]);
  return damaged > 0 ? EXIT.damaged : EXIT.ok;
}

async function printVerification(
  { terminal, isJson }: Session,
  progress: Progress,
  run: string,
  found: Verification,
): Promise<void> {
  progress.end();
  if (isJson) return terminal.write(`${jsonText({ run, ...found })}\n`);
  terminal.print(...verificationLines(run, found).flatMap((line) => wrapLine(line, terminal.columns)));
}

function verificationLines(
  run: string,
  { ok, problems, checkpoints, verifiedFrom, payloads, detectsTampering }: Verification,
): readonly Line[] {
  const read = [
    pluralize(checkpoints, 'checkpoint'),
    payloads === undefined ? 'only the hash chain, because the key is not available' : pluralize(payloads, 'payload'),
  ];
  const verified = verifiedFrom === undefined ? 'no version verified' : `verified from version ${verifiedFrom}`;
  return [
    [
      ok ? styled('green', '✓ ') : styled('red', '✗ '),
      bold(run),
      ok ? ' is intact' : styled('red', ' is damaged'),
      dim(`: ${read.join(', ')}, ${verified}`),
    ],
    ...problems.map(({ version, problem }): Line => ['  version ', String(version), ': ', problem]),
    ...(ok && !detectsTampering
      ? [dim('  Without a key, this detects damage, but not changes by an attacker with write access to the storage.')]
      : []),
  ];
}
