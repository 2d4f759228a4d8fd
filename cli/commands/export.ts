import { WaitstateError } from '../../lambda/core/errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Located, Session } from '../session.ts';
import { jsonText } from '../terminal/json-text.ts';
import { bold, dim, styled } from '../terminal/line.ts';
import { progressOn } from '../terminal/progress.ts';
import { checkExport } from './export/check-export.ts';
import { checkpointLines } from './export/checkpoint-lines.ts';
import { type Exported, fileSink, terminalSink } from './export/sink.ts';
import { trajectoryLines } from './export/trajectory-lines.ts';
import { answer, counted } from './output/print-result.ts';
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
    throw new WaitstateError(
      'INVALID_INPUT',
      'Without --out the export itself is the answer, and is JSON anyway. Leave --json out.',
    );
  const { terminal } = session;
  const { desk } = await session.open();
  // One that is named must be there.
  const runs =
    run === undefined ? (await collect(desk, {}, Infinity)).found.map((each) => each.run) : [(await desk.run(run)).run];
  const progress = progressOn(terminal);
  const sink = out === undefined ? terminalSink(terminal) : await fileSink(out);
  const left: string[] = [];
  const exporting = { desk, runs, progress, leftOut: (gone: string) => void left.push(gone) };
  try {
    const lines = format === 'trajectory' ? trajectoryLines(exporting) : checkpointLines(exporting);
    for await (const line of lines) await sink.write(`${jsonText(line)}\n`);
    const written = await sink.end();
    progress.end();
    if (out !== undefined) await tellWritten(session, out, written, runs.length - left.length);
    if (left.length > 0) terminal.tell(styled('yellow', leftText(left)));
    return EXIT.ok;
  } catch (error) {
    await sink.abandon();
    throw error;
  } finally {
    progress.end();
  }
}

const MOST_NAMED = 5;

function leftText(left: readonly string[]): string {
  const named = left.slice(0, MOST_NAMED).join(', ');
  const why = 'gone since they were listed, or their keys were destroyed';
  return `Left out: ${counted(left.length, 'run')}, ${why} (${named}${left.length > MOST_NAMED ? ', …' : ''}).`;
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
