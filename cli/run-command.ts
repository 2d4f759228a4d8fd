import { EXIT, type ExitCode } from './exit-codes.ts';
import { createProgram } from './program/program.ts';
import { reportError } from './report-error.ts';
import type { RunInSession } from './session.ts';
import type { Target } from './target/target.ts';
import { styled } from './terminal/line.ts';
import type { Terminal } from './terminal/terminal.ts';

/** Runs one command line on a terminal and returns its exit code. Never throws. */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok;
  const runInSession: RunInSession = async (options, action) => {
    const { json: isJson = false, ...targetOptions } = options;
    let opening: Promise<Target> | undefined;
    const open = async (createIfMissing: boolean): Promise<Target> => {
      const [{ resolveTarget }, { openTarget }] = await Promise.all([
        import('./target/resolve-target.ts'),
        import('./target/open-target.ts'),
      ]);
      return openTarget(await resolveTarget(targetOptions, terminal.environment), {
        tenant: targetOptions.tenant,
        createIfMissing,
        log: (level, message) => level !== 'info' && terminal.printErr(styled('yellow', message)),
      });
    };
    try {
      const session = {
        terminal,
        targetOptions,
        isJson,
        openTarget: ({ createIfMissing = false }: { readonly createIfMissing?: boolean } = {}) =>
          (opening ??= open(createIfMissing)),
      };
      exitCode = (await action(session)) ?? EXIT.ok;
    } finally {
      const target = await opening?.catch(() => undefined);
      await target?.close();
    }
  };
  try {
    await createProgram(runInSession, terminal).parseAsync(args.length > 0 ? args : ['--help'], { from: 'user' });
    return exitCode;
  } catch (error) {
    return reportError(error, terminal, args);
  }
}
