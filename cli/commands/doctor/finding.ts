/** What a look at one part of the set-up found. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly found: string;
  /** What to do about it. */
  readonly mend?: string;
}

export const ok = (check: string, found: string): Finding => ({ check, status: 'ok', found });
export const warn = (check: string, found: string, mend: string): Finding => ({ check, status: 'warn', found, mend });
export const fail = (check: string, found: string, mend: string): Finding => ({ check, status: 'fail', found, mend });

/** What an error says, on one line. */
export const errorSummary = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]?.replace(/\.$/, '') ?? '';
