import type { ExitCode } from './exit-codes.ts';
import type { TargetOptions } from './target/resolve-target.ts';
import type { Target } from './target/target.ts';
import type { Terminal } from './terminal/terminal.ts';

/** The options of every command that works on runs. */
export interface CommonOptions extends TargetOptions {
  readonly json?: boolean;
}

/** One execution of a command. */
export interface Session {
  readonly terminal: Terminal;
  readonly targetOptions: TargetOptions;
  /** Whether `--json` was given: then standard output is JSON only. */
  readonly isJson: boolean;
  /** Opens the target that the command line names, once. Creates a missing folder only with `createIfMissing`. */
  openTarget(options?: { readonly createIfMissing?: boolean }): Promise<Target>;
}

/** What a command does; the exit code is 0 unless it returns another. */
type CommandAction = (session: Session) => Promise<ExitCode | void>;

/** Runs the action of a command in a new session, and closes its target afterwards. */
export type RunInSession = (options: CommonOptions, work: CommandAction) => Promise<void>;
