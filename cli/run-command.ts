import { EXIT, type ExitCode } from './exit-codes.ts';
import { createProgram } from './program/program.ts';
import { reportError } from './report-error.ts';
import type { Go } from './session.ts';
import type { Place } from './target/target.ts';
import { styled } from './terminal/line.ts';
import type { Terminal } from './terminal/terminal.ts';

/** Runs one command line on a terminal, and gives its exit code. Nothing is thrown. */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok;
  const go: Go = async (options, work) => {
    const { json: isJson = false, ...where } = options;
    let opened: Promise<Place> | undefined;
    const open = async (isNew?: boolean): Promise<Place> => {
      const [{ whereIs }, { openPlace }] = await Promise.all([
        import('./target/resolve-target.ts'),
        import('./target/open-target.ts'),
      ]);
      return openPlace(await whereIs(where, terminal.environment), {
        ...{ tenant: where.tenant, isNew: isNew ?? false },
        log: (level, message) => level !== 'info' && terminal.tell(styled('yellow', message)),
      });
    };
    try {
      const session = {
        ...{ terminal, where, isJson },
        open: ({ isNew }: { readonly isNew?: boolean } = {}) => (opened ??= open(isNew)),
      };
      exitCode = (await work(session)) ?? EXIT.ok;
    } finally {
      const place = await opened?.catch(() => undefined);
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
