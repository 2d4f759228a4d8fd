import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The file of the command. */
export const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

/** Starts the command as a process of its own, with nothing of this one's environment that matters to it. */
export function startProcess(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcessWithoutNullStreams {
  const { PATH, HOME, TMPDIR } = process.env;
  return spawn(process.execPath, [MAIN, ...args], { env: { PATH, HOME, TMPDIR, ...env } });
}

/** Runs the command as a process of its own until it ends. */
export async function runProcess(
  args: readonly string[],
  { env, input = '' }: { readonly env?: NodeJS.ProcessEnv; readonly input?: string } = {},
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const child = startProcess(args, env);
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
