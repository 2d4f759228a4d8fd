import { EXIT, type ExitCode } from './exit-codes.ts';
import { createProgram } from './program/program.ts';
import { reportError } from './report-error.ts';
import type { RunInSession } from './session.ts';
import type { Target } from './target/target.ts';
import { styled } from './terminal/line.ts';
import type { Terminal } from './terminal/terminal.ts';

/** Runs one command line on a terminal, and gives its exit code. Nothing is thrown. */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok;
  const go: RunInSession = async (options, work) => {
    const { json: isJson = false, ...where } = options;
    let loaded: Promise<Target> | undefined;
    const open = async (isNew?: boolean): Promise<Target> => {
      const [{ resolveTarget: whereIs }, { openTarget: openPlace }] = await Promise.all([
        import('./target/resolve-target.ts'),
        import('./target/open-target.ts'),
      ]);
      return openPlace(await whereIs(where, terminal.environment), {
        ...{ tenant: where.tenant, createIfMissing: isNew ?? false },
        log: (level, message) => level !== 'info' && terminal.printErr(styled('yellow', message)),
      });
    };
    try {
      const session = {
        ...{ terminal, targetOptions: where, isJson },
        openTarget: ({ isNew }: { readonly isNew?: boolean } = {}) => (loaded ??= open(isNew)),
      };
      exitCode = (await work(session)) ?? EXIT.ok;
    } finally {
      const place = await loaded?.catch(() => undefined);
      await place?.close();
    }
  };
  try {
    await createProgram(go, terminal).parseAsync(args.length > 0 ? args : ['--help'], { from: 'user' });
    return exitCode;
  } catch (error) {
    return reportError(error, terminal, args);
  }
}
