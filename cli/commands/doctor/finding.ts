/** The result of one check of the setup. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly found: string;
  /** How to fix it. The field is part of the JSON output, so its name stays. */
  readonly fix?: string;
}

export const ok = (check: string, found: string): Finding => ({ check, status: 'ok', found });
export const warn = (check: string, found: string, fix: string): Finding => ({ check, status: 'warn', found, fix });
export const fail = (check: string, found: string, fix: string): Finding => ({ check, status: 'fail', found, fix });

/** The first line of an error message, without its period. */
export const errorSummary = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]?.replace(/\.$/, '') ?? '';
