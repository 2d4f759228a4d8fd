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

const MOST_PROBLEMS = 20;

/** Reads an export and says whether it is whole: every line, every chain of checkpoints, and the hash at its end. */
export async function checkExport(file: string): Promise<ExportCheck> {
  const checker = new Checker();
  try {
    const lines = createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity });
    for await (const line of lines) checker.line(line);
  } catch (cause) {
    throw new WaitstateError('INVALID_INPUT', `The file ${file} cannot be read: ${(cause as Error).message}.`, {
      cause,
    });
  }
  return checker.end();
}

class Checker {
  #line = 0;
  #runs = 0;
  #checkpoints = 0;
  #run: unknown;
  #before: ExportLine | undefined;
  #ended: number | undefined;
  readonly #hash = createHash('sha256');
  readonly #problems: { readonly line: number; readonly problem: string }[] = [];

  line(text: string): void {
    this.#line += 1;
    const read = parsed(text);
    if (this.#ended !== undefined) this.#say('it comes after the end of the export');
    else if (read) this.#take(read);
    else this.#say('it is not JSON');
    this.#hash.update(`${text}\n`);
  }

  #take(read: ExportLine): void {
    if (this.#line === 1) this.#begin(read);
    else if (read.type === 'run') this.#beginRun(read);
    else if (read.type === 'checkpoint') this.#checkpoint(read);
    else if (read.type === 'end') this.#finish(read);
    else this.#say(`it is of an unknown type, ${JSON.stringify(read.type)}`);
  }

  end(): ExportCheck {
    if (this.#ended === undefined) this.#say('the end is missing: the file was cut off');
    const problems = this.#problems.slice(0, MOST_PROBLEMS);
    return { ok: problems.length === 0, runs: this.#runs, checkpoints: this.#checkpoints, problems };
  }

  #begin({ type, format }: ExportLine): void {
    if (type !== 'export')
      this.#say('it is not the beginning of an export (with --format trajectory nothing can be checked)');
    else if (format !== EXPORT_FORMAT) this.#say(`it has format ${format}, and this command reads ${EXPORT_FORMAT}`);
  }

  #beginRun({ run }: ExportLine): void {
    this.#runs += 1;
    this.#run = run;
    this.#before = undefined;
  }

  #checkpoint(read: ExportLine): void {
    this.#checkpoints += 1;
    const before = this.#before;
    const { run, version, previousHash } = read;
    if (run !== this.#run)
      this.#say(`it is of run ${JSON.stringify(run)}, and stands under ${JSON.stringify(this.#run)}`);
    else if (version !== Number(before?.version ?? 0) + 1)
      this.#say(`version ${version} follows ${before?.version ?? 'nothing'}`);
    else if (before && previousHash !== before.hash)
      this.#say(`version ${version} does not follow from the one before it`);
    this.#before = read;
  }

  #finish({ runs, checkpoints, sha256 }: ExportLine): void {
    this.#ended = this.#line;
    if (runs !== this.#runs || checkpoints !== this.#checkpoints)
      this.#say(
        `${runs} runs and ${checkpoints} checkpoints were exported, ${this.#runs} and ${this.#checkpoints} are there`,
      );
    if (sha256 !== this.#hash.copy().digest('hex')) this.#say('the lines before do not have the SHA-256 that it names');
  }

  #say(problem: string): void {
    if (this.#problems.length < MOST_PROBLEMS) this.#problems.push({ line: this.#line, problem });
  }
}

function parsed(text: string): ExportLine | undefined {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === 'object' && read !== null ? read : undefined;
  } catch {
    return undefined;
  }
}
