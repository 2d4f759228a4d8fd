import { WaitstateError } from '../../lambda/core/errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { CommonOptions, Session } from '../session.ts';
import { jsonText } from '../terminal/json-text.ts';
import { bold, dim, styled } from '../terminal/line.ts';
import { createProgress } from '../terminal/progress.ts';
import { checkExport } from './export/check-export.ts';
import { checkpointLines } from './export/checkpoint-lines.ts';
import { fileSink, terminalSink, type WrittenExport } from './export/sink.ts';
import { trajectoryLines } from './export/trajectory-lines.ts';
import { pluralize, printResult } from './output/print-result.ts';
import { collectRuns } from './runs.ts';
import { runOrAllRequired } from './verify.ts';

export interface ExportOptions extends CommonOptions {
  readonly all?: boolean;
  readonly out?: string;
  readonly format: 'checkpoints' | 'trajectory';
  readonly check?: string;
}

/** Exports runs as JSON Lines, or checks an exported file. */
export async function exportRuns(session: Session, run: string | undefined, options: ExportOptions): Promise<ExitCode> {
  const { all = false, out, format, check } = options;
  if (check !== undefined) return checkExportFile(session, check);
  if ((run === undefined) === !all) throw runOrAllRequired('export');
  if (session.isJson && out === undefined)
    throw new WaitstateError(
      'INVALID_INPUT',
      'Without --out, the output is the export itself, which is already JSON. Remove --json.',
    );
  const { terminal } = session;
  const { operator } = await session.openTarget();
  // A run that is named must exist.
  const runs =
    run === undefined
      ? (await collectRuns(operator, {}, Infinity)).found.map((each) => each.run)
      : [(await operator.run(run)).run];
  const progress = createProgress(terminal);
  const sink = out === undefined ? terminalSink(terminal) : await fileSink(out);
  const skipped: string[] = [];
  const source = { operator: operator, runs, progress, onSkipped: (gone: string) => void skipped.push(gone) };
  try {
    const lines = format === 'trajectory' ? trajectoryLines(source) : checkpointLines(source);
    for await (const line of lines) await sink.write(`${jsonText(line)}\n`);
    const written = await sink.end();
    progress.end();
    if (out !== undefined) await printWritten(session, out, written, runs.length - skipped.length);
    if (skipped.length > 0) terminal.printErr(styled('yellow', skippedText(skipped)));
    return EXIT.ok;
  } catch (error) {
    await sink.abandon();
    throw error;
  } finally {
    progress.end();
  }
}

const MAX_NAMED = 5;

function skippedText(skipped: readonly string[]): string {
  const named = skipped.slice(0, MAX_NAMED).join(', ');
  const why = 'deleted since they were listed, or their keys were destroyed';
  return `Skipped ${pluralize(skipped.length, 'run')}, ${why} (${named}${skipped.length > MAX_NAMED ? ', …' : ''}).`;
}

async function printWritten(
  session: Session,
  file: string,
  { lines, bytes, sha256 }: WrittenExport,
  runs: number,
): Promise<void> {
  await printResult(session, { file, runs, lines, bytes, sha256 }, () => [
    [
      styled('green', '✓ '),
      `Wrote ${pluralize(runs, 'run')} to `,
      bold(file),
      `: ${pluralize(lines, 'line')}, ${pluralize(bytes, 'byte')}`,
    ],
    dim(`  SHA-256 ${sha256}`),
  ]);
}

async function checkExportFile(session: Session, file: string): Promise<ExitCode> {
  const found = await checkExport(file);
  const { ok, runs, checkpoints, problems } = found;
  await printResult(session, { file, ...found }, () => [
    [
      ok ? styled('green', '✓ ') : styled('red', '✗ '),
      ...[bold(file), ok ? ' is intact: ' : ' was changed or cut off: '],
      `${pluralize(runs, 'run')}, ${pluralize(checkpoints, 'checkpoint')}`,
    ],
    ...problems.map(({ line, problem }) => `  line ${line}: ${problem}`),
  ]);
  return ok ? EXIT.ok : EXIT.damaged;
}
