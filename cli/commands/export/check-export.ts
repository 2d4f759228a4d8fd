import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { WaitstateError } from '../../../lambda/core/errors.ts';
import { EXPORT_FORMAT } from './checkpoint-lines.ts';

/** The result of checking an exported file. */
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

/** Checks an export: every line, every chain of checkpoints, and the hash at the end. */
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
    if (this.#endLine !== undefined) this.#report('unexpected line after the end of the export');
    else if (line) this.#checkType(line);
    else this.#report('not valid JSON');
    this.#hash.update(`${text}\n`);
  }

  #checkType(line: ExportLine): void {
    if (this.#line === 1) this.#begin(line);
    else if (line.type === 'run') this.#beginRun(line);
    else if (line.type === 'checkpoint') this.#checkpoint(line);
    else if (line.type === 'end') this.#finish(line);
    else this.#report(`unknown type ${JSON.stringify(line.type)}`);
  }

  end(): ExportCheck {
    if (this.#endLine === undefined) this.#report('the last line is missing: the file was cut off');
    const problems = this.#problems.slice(0, MAX_PROBLEMS);
    return { ok: problems.length === 0, runs: this.#runs, checkpoints: this.#checkpoints, problems };
  }

  #begin({ type, format }: ExportLine): void {
    if (type !== 'export')
      this.#report('not the start of an export (a file with --format trajectory cannot be checked)');
    else if (format !== EXPORT_FORMAT) this.#report(`format must be ${EXPORT_FORMAT}; found ${format}`);
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
      this.#report(`checkpoint of run ${JSON.stringify(run)} among those of run ${JSON.stringify(this.#run)}`);
    else if (version !== Number(previous?.version ?? 0) + 1)
      this.#report(`version ${version} follows ${previous?.version ?? 'nothing'}`);
    else if (previous && previousHash !== previous.hash)
      this.#report(`the hash of version ${version} does not match its predecessor`);
    this.#previous = line;
  }

  #finish({ runs, checkpoints, sha256 }: ExportLine): void {
    this.#endLine = this.#line;
    if (runs !== this.#runs || checkpoints !== this.#checkpoints)
      this.#report(
        `expected ${runs} runs and ${checkpoints} checkpoints; found ${this.#runs} and ${this.#checkpoints}`,
      );
    if (sha256 !== this.#hash.copy().digest('hex')) this.#report('the SHA-256 does not match the previous lines');
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
