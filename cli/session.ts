import type { ExitCode } from './exit-codes.ts';
import type { TargetOptions } from './target/resolve-target.ts';
import type { Target } from './target/target.ts';
import type { Terminal } from './terminal/terminal.ts';

/** What every command that works on runs is told. */
export interface CommonOptions extends TargetOptions {
  readonly json?: boolean;
}

/** One run of the command. */
export interface Session {
  readonly terminal: Terminal;
  readonly targetOptions: TargetOptions;
  /** Whether a program reads the answer: then nothing but JSON is on standard output. */
  readonly isJson: boolean;
  /** Opens the place that the command line names, once; a folder in which there is nothing is made only if `createIfMissing`. */
  openTarget(options?: { readonly isNew?: boolean }): Promise<Target>;
}

/** What a command does; the exit code is 0 unless it gives another. */
type CommandAction = (session: Session) => Promise<ExitCode | void>;

/** Runs what a command does in a session of its own. */
export type RunInSession = (options: CommonOptions, work: CommandAction) => Promise<void>;
