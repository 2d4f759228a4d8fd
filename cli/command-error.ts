import { EXIT, type ExitCode } from './exit-codes.ts';

/** What only the command knows of: nothing is at a path, no server runs. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly code: keyof typeof EXITS;

  constructor(code: keyof typeof EXITS, message: string) {
    super(message);
    this.code = code;
  }

  get exitCode(): ExitCode {
    return EXITS[this.code];
  }
}

const EXITS = { PART_NOT_FOUND: EXIT.notFound, NO_SERVER: EXIT.notFound } as const;
