import { HoldpointError } from '../../lambda/core/errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Located, Session } from '../session.ts';
import { jsonText } from '../terminal/json-text.ts';
import { bold, dim, styled } from '../terminal/line.ts';
import { progressOn } from '../terminal/progress.ts';
import { answer, counted } from './answer.ts';
import { checkExport } from './export/check-export.ts';
import { checkpointLines } from './export/checkpoint-lines.ts';
import { type Exported, fileSink, terminalSink } from './export/sink.ts';
import { trajectoryLines } from './export/trajectory-lines.ts';
import { collect } from './runs.ts';
import { oneRunOrAll } from './verify.ts';

export interface ExportOptions extends Located {
  readonly all?: boolean;
  readonly out?: string;
  readonly format: 'checkpoints' | 'trajectory';
  readonly check?: string;
}

/** Writes runs as JSON Lines, or checks what was written. */
export async function exportRuns(session: Session, run: string | undefined, options: ExportOptions): Promise<ExitCode> {
  const { all = false, out, format, check } = options;
  if (check !== undefined) return checkFile(session, check);
  if ((run === undefined) === !all) throw oneRunOrAll('export');
  if (session.isJson && out === undefined)
    throw new HoldpointError(
      'INVALID_INPUT',
      'Without --out the export itself is the answer, and is JSON anyway. Leave --json out.',
    );
  const { desk } = await session.open();
  const runs =
    run === undefined ? (await collect(desk, {}, Infinity)).found.map((each) => each.run) : [(await desk.run(run)).run];
  const progress = progressOn(session.terminal);
  const sink = out === undefined ? terminalSink(session.terminal) : await fileSink(out);
  try {
    const lines =
      format === 'trajectory' ? trajectoryLines(desk, runs, progress) : checkpointLines(desk, runs, progress);
    for await (const line of lines) await sink.write(`${jsonText(line)}\n`);
    const written = await sink.end();
    progress.end();
    if (out !== undefined) await tellWritten(session, out, written, runs.length);
    return EXIT.ok;
  } catch (error) {
    await sink.abandon();
    throw error;
  } finally {
    progress.end();
  }
}

async function tellWritten(
  session: Session,
  file: string,
  { lines, bytes, sha256 }: Exported,
  runs: number,
): Promise<void> {
  await answer(session, { file, runs, lines, bytes, sha256 }, () => [
    [
      styled('green', '✓ '),
      `Wrote ${counted(runs, 'run')} to `,
      bold(file),
      `: ${counted(lines, 'line')}, ${counted(bytes, 'byte')}`,
    ],
    dim(`  SHA-256 ${sha256}`),
  ]);
}

async function checkFile(session: Session, file: string): Promise<ExitCode> {
  const found = await checkExport(file);
  const { ok, runs, checkpoints, problems } = found;
  await answer(session, { file, ...found }, () => [
    [
      ok ? styled('green', '✓ ') : styled('red', '✗ '),
      ...[bold(file), ok ? ' is whole: ' : ' is not as it was exported: '],
      `${counted(runs, 'run')}, ${counted(checkpoints, 'checkpoint')}`,
    ],
    ...problems.map(({ line, problem }) => `  line ${line}: ${problem}`),
  ]);
  return ok ? EXIT.ok : EXIT.damaged;
}
