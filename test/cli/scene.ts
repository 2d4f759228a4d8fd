import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { onTestFinished } from 'vitest';
import { runCommand } from '../../cli/run-command.ts';
import { processTerminal, type Streams } from '../../cli/terminal/process-terminal.ts';
import type { ErrorCode } from '../../lambda/core/errors.ts';

/** The result of a command line. */
export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** The parsed lines of `--json` output. */
  json<T = Record<string, unknown>>(): T[];
  /** The parsed error of `--json` output. */
  error(): {
    readonly code: ErrorCode | 'PART_NOT_FOUND' | 'NO_SERVER' | 'USAGE' | 'UNEXPECTED';
    readonly exitCode: number;
    readonly message: string;
  };
}

/** The terminal, input and environment of a command line. */
export interface RunOptions {
  /** The width of the terminal; without it, there is no terminal. */
  readonly columns?: number;
  /** The standard input; on a terminal, the typed lines. */
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly now?: () => number;
}

/** Creates a folder that is removed after the test. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'waitstate-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs a command line in this process. */
export async function run(args: readonly string[], running: RunOptions = {}): Promise<CommandResult> {
  const { columns, input = '', env = {}, now } = running;
  const out = stream(columns);
  const err = stream(columns);
  const stdin = Object.assign(new PassThrough(), { isTTY: columns !== undefined, setRawMode: () => stdin });
  if (columns === undefined) stdin.end(input);
  else {
    // Types the next line at each prompt.
    const lines = input.split('\n').filter((line) => line !== '');
    err.stream.on('data', () => {
      if (isPrompt(err.text())) setImmediate(() => stdin.write(`${lines.shift() ?? ''}\n`));
    });
  }
  const streams = { stdin, stdout: out.stream, stderr: err.stream, env } as unknown as Streams;
  const code = await runCommand(args, processTerminal(streams, now));
  const json = <T>(): T[] =>
    out
      .text()
      .trimEnd()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  return { code, out: out.text(), err: err.text(), json, error: () => JSON.parse(err.text()).error };
}

/** Runs command lines on a folder. */
export const runIn =
  (folder: string, always: RunOptions = {}) =>
  (args: readonly string[], running: RunOptions = {}): Promise<CommandResult> =>
    run(args, { ...always, ...running, env: { WAITSTATE_FOLDER: folder, ...always.env, ...running.env } });

/** Whether the output ends with a prompt. */
export const isPrompt = (shown: string): boolean => stripVTControlCharacters(shown).endsWith('] ');

function stream(columns: number | undefined) {
  const written = new PassThrough();
  const pieces: string[] = [];
  written.on('data', (piece: Buffer) => pieces.push(piece.toString()));
  return {
    stream: Object.assign(written, columns === undefined ? {} : { isTTY: true, columns, getColorDepth: () => 8 }),
    text: () => pieces.join(''),
  };
}
