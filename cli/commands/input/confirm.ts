import { WaitstateError } from '../../../lambda/core/errors.ts';
import type { Session } from '../../session.ts';
import { bold, dim, styled, wrapText } from '../../terminal/line.ts';
import { Declined } from '../../terminal/prompt-errors.ts';

/** Asks for confirmation before something that cannot be reverted; fails without a terminal. */
export async function confirm({ terminal }: Session, warning: string, isConfirmed: boolean | undefined): Promise<void> {
  if (isConfirmed) return;
  if (!terminal.ask)
    throw new WaitstateError(
      'INVALID_INPUT',
      `${warning} The command asks for confirmation, but there is no terminal. Pass --yes to confirm.`,
    );
  const lines = wrapText(warning, Math.min(terminal.columns, 100) - 2);
  terminal.printErr(...lines.map((line, i) => [i === 0 ? styled('yellow', '! ') : '  ', line]));
  const reply = await terminal.ask([bold('  Continue?'), dim(' [y/N] ')]);
  if (!/^y(es)?$/i.test(reply?.trim() ?? '')) throw new Declined();
}
