import { CommanderError } from 'commander';
import { isWaitstateError } from '../lambda/core/errors.ts';
import { ADVICE } from './advice.ts';
import { CommandError } from './command-error.ts';
import { EXIT, EXIT_CODE_BY_ERROR, type ExitCode } from './exit-codes.ts';
import { jsonText } from './terminal/json-text.ts';
import { dim, type Line, styled, wrapText } from './terminal/line.ts';
import { Declined, Interrupted } from './terminal/prompt-errors.ts';
import type { Terminal } from './terminal/terminal.ts';

/** An error as the command reports it. */
interface Failure {
  readonly code: string;
  readonly exitCode: ExitCode;
  readonly message: string;
  readonly advice?: string;
}

/** Reports an error on standard error, as a few lines or as JSON, and returns the exit code. */
export function reportError(error: unknown, terminal: Terminal, args: readonly string[]): ExitCode {
  // Help and version end this way; they are already printed.
  if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
  if (error instanceof Interrupted) return EXIT.interrupted;
  if (error instanceof Declined) {
    terminal.printErr(dim(error.message === '' ? 'Nothing was done.' : `${error.message} Nothing was done.`));
    return EXIT.failed;
  }
  const isJson = args.includes('--json');
  const failure = toFailure(error, args);
  const { code, exitCode, message, advice } = failure;
  if (isJson) terminal.printErr(jsonText({ error: { code, exitCode, message, ...(advice && { advice }) } }));
  else
    terminal.printErr(...linesOf(failure, terminal.columns === Infinity ? Infinity : Math.min(terminal.columns, 100)));
  if (terminal.environment.WAITSTATE_DEBUG === '1') printStack(error, terminal);
  return exitCode;
}

function toFailure(error: unknown, [command = '']: readonly string[]): Failure {
  if (error instanceof CommanderError) {
    const [first = '', hint] = error.message.replace(/^error: /, '').split('\n');
    const advice =
      hint?.replace(/^\(|\)$/g, '') ??
      `Run "waitstate ${/^[a-z]+$/.test(command) ? `${command} ` : ''}--help" to see the options.`;
    return { code: 'USAGE', exitCode: EXIT.usage, message: toSentence(first), advice };
  }
  if (error instanceof CommandError) return { code: error.code, exitCode: error.exitCode, message: error.message };
  if (!isWaitstateError(error)) {
    const message = `Unexpected error: ${error instanceof Error ? `${error.name}: ${error.message}` : error}`;
    return {
      code: 'UNEXPECTED',
      exitCode: EXIT.failed,
      message,
      advice: 'Set WAITSTATE_DEBUG=1 to see the stack trace.',
    };
  }
  const { code } = error;
  const advice = ADVICE[code];
  const message = advice?.replacesLastSentence ? withoutLastSentence(error.message) : error.message;
  return { code, exitCode: EXIT_CODE_BY_ERROR[code] ?? EXIT.failed, message, ...(advice && { advice: advice.text }) };
}

const toSentence = (text: string): string => {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(capital) ? capital : `${capital}.`;
};

function withoutLastSentence(message: string): string {
  const end = message.lastIndexOf('. ');
  return end < 0 ? message : message.slice(0, end + 1);
}

function linesOf({ code, exitCode, message, advice }: Failure, columns: number): readonly Line[] {
  const [first = '', ...rest] = wrapText(message, columns - 2);
  const below = (text: string): readonly Line[] => wrapText(text, columns - 2).map((line) => `  ${line}`);
  return [
    [styled('red', '✗ '), styled('bold', first)],
    ...rest.map((line) => ['  ', styled('bold', line)]),
    ...(advice === undefined ? [] : below(advice)),
    dim(`  ${code}, exit code ${exitCode}`),
  ];
}

function printStack(error: unknown, { printErr }: Terminal): void {
  for (let each: unknown = error; each instanceof Error; each = each.cause)
    printErr(...(each.stack ?? String(each)).split('\n').map(dim));
}
