import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { WaitstateError } from '../../../lambda/core/errors.ts';
import { EXPORT_FORMAT } from './checkpoint-lines.ts';

/** What is known of a file that was exported. */
export interface ExportCheck {
  readonly ok: boolean;
  readonly runs: number;
  readonly checkpoints: number;
  readonly problems: readonly { readonly line: number; readonly problem: string }[];
}

interface ExportLine {
  readonly type?: unknown;
  readonly format?: unknown;
  readonly run?: unknown;
  readonly version?: unknown;
  readonly hash?: unknown;
  readonly previousHash?: unknown;
  readonly runs?: unknown;
  readonly checkpoints?: unknown;
  readonly sha256?: unknown;
}

const MAX_PROBLEMS = 20;

/** Reads an export and says whether it is whole: every line, every chain of checkpoints, and the hash at its end. */
export async function checkExport(file: string): Promise<ExportCheck> {
  const checker = new ExportChecker();
  try {
    const lines = createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity });
    for await (const line of lines) checker.checkLine(line);
  } catch (cause) {
    throw new WaitstateError('INVALID_INPUT', `The file ${file} cannot be read: ${(cause as Error).message}.`, {
      cause,
    });
  }
  return checker.end();
}

class ExportChecker {
  #line = 0;
  #runs = 0;
  #checkpoints = 0;
  #run: unknown;
  #previous: ExportLine | undefined;
  #endLine: number | undefined;
  readonly #hash = createHash('sha256');
  readonly #problems: { readonly line: number; readonly problem: string }[] = [];

  checkLine(text: string): void {
    this.#line += 1;
    const line = parseLine(text);
    if (this.#endLine !== undefined) this.#report('it comes after the end of the export');
    else if (line) this.#checkType(line);
    else this.#report('it is not JSON');
    this.#hash.update(`${text}\n`);
  }

  #checkType(line: ExportLine): void {
    if (this.#line === 1) this.#begin(line);
    else if (line.type === 'run') this.#beginRun(line);
    else if (line.type === 'checkpoint') this.#checkpoint(line);
    else if (line.type === 'end') this.#finish(line);
    else this.#report(`it is of an unknown type, ${JSON.stringify(line.type)}`);
  }

  end(): ExportCheck {
    if (this.#endLine === undefined) this.#report('the end is missing: the file was cut off');
    const problems = this.#problems.slice(0, MAX_PROBLEMS);
    return { ok: problems.length === 0, runs: this.#runs, checkpoints: this.#checkpoints, problems };
  }

  #begin({ type, format }: ExportLine): void {
    if (type !== 'export')
      this.#report('it is not the beginning of an export (with --format trajectory nothing can be checked)');
    else if (format !== EXPORT_FORMAT) this.#report(`it has format ${format}, and this command reads ${EXPORT_FORMAT}`);
  }

  #beginRun({ run }: ExportLine): void {
    this.#runs += 1;
    this.#run = run;
    this.#previous = undefined;
  }

  #checkpoint(line: ExportLine): void {
    this.#checkpoints += 1;
    const previous = this.#previous;
    const { run, version, previousHash } = line;
    if (run !== this.#run)
      this.#report(`it is of run ${JSON.stringify(run)}, and stands under ${JSON.stringify(this.#run)}`);
    else if (version !== Number(previous?.version ?? 0) + 1)
      this.#report(`version ${version} follows ${previous?.version ?? 'nothing'}`);
    else if (previous && previousHash !== previous.hash)
      this.#report(`version ${version} does not follow from the one before it`);
    this.#previous = line;
  }

  #finish({ runs, checkpoints, sha256 }: ExportLine): void {
    this.#endLine = this.#line;
    if (runs !== this.#runs || checkpoints !== this.#checkpoints)
      this.#report(
        `${runs} runs and ${checkpoints} checkpoints were exported, ${this.#runs} and ${this.#checkpoints} are there`,
      );
    if (sha256 !== this.#hash.copy().digest('hex'))
      this.#report('the lines before do not have the SHA-256 that it names');
  }

  #report(problem: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push({ line: this.#line, problem });
  }
}

function parseLine(text: string): ExportLine | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === 'object' && line !== null ? line : undefined;
  } catch {
    return undefined;
  }
}
