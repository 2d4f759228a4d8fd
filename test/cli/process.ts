import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { shellQuote } from '../../cli/terminal/shell-quote.ts';
import { bundledProgram } from '../bundled-program.ts';
import { isPrompt } from './scene.ts';

/** The path of the command. */
export const MAIN = await bundledProgram('cli/main');

/** Starts the command as a separate process, without the environment variables that affect it. */
export const startProcess = (
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  program = MAIN,
): ChildProcessWithoutNullStreams => spawn(process.execPath, [program, ...args], { env: { ...plainEnv(), ...env } });

/** The environment variables that the command needs, and the compile cache, which makes it start faster. */
export function plainEnv(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE };
}

/** Runs the command as a separate process until it exits. */
export async function runProcess(
  args: readonly string[],
  { env, input = '', program }: { readonly env?: NodeJS.ProcessEnv; readonly input?: string; program?: string } = {},
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const child = startProcess(args, env, program);
  let [out, err] = ['', ''];
  child.stdout.on('data', (piece) => {
    out += piece;
  });
  child.stderr.on('data', (piece) => {
    err += piece;
  });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, out, err };
}

/** Runs the command on a pseudo-terminal, and types the same text at each prompt. */
export async function runOnTerminal(
  args: readonly string[],
  { env, typed = '' }: { readonly env: NodeJS.ProcessEnv; readonly typed?: string },
): Promise<{ readonly code: number | null; readonly shown: string }> {
  const program = [process.execPath, MAIN, ...args].map(shellQuote).join(' ');
  const child = spawn('script', ['-qec', program, '/dev/null'], {
    env: { ...plainEnv(), TERM: 'xterm-256color', ...env },
  });
  let [shown, promptEnd] = ['', 0];
  child.stdout.on('data', (piece) => {
    shown += piece;
    if (!isPrompt(shown) || shown.length === promptEnd) return;
    promptEnd = shown.length;
    child.stdin.write(typed);
  });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, shown };
}
