import { EXIT, type ExitCode } from './exit-codes.ts';

/** An error that only the command line has: a path that is not in the state, or no running server. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly code: keyof typeof EXIT_CODES;

  constructor(code: keyof typeof EXIT_CODES, message: string) {
    super(message);
    this.code = code;
  }

  get exitCode(): ExitCode {
    return EXIT_CODES[this.code];
  }
}

const EXIT_CODES = { PART_NOT_FOUND: EXIT.notFound, NO_SERVER: EXIT.notFound } as const;
