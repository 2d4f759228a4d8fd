import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Doc } from '../../../lambda/checkpoints/engine.ts';
import { isWaitstateError, WaitstateError } from '../../../lambda/core/errors.ts';
import { dim, styled } from '../../terminal/line.ts';
import { Declined } from '../../terminal/prompt-errors.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { parseJson } from './parse-json.ts';

/**
 * Opens a state as JSON in an editor until it is valid JSON and `apply` accepts it. Throws `Declined` if the text is
 * unchanged or empty.
 */
export async function editState<T>(terminal: Terminal, before: Doc, apply: (edited: Doc) => Promise<T>): Promise<T> {
  const { edit, ask, printErr } = terminal;
  if (!edit || !ask)
    throw new WaitstateError(
      'INVALID_INPUT',
      '--edit opens an editor, which needs a terminal. Pass --state FILE instead.',
    );
  // Readable by its owner only: a state may be secret.
  const folder = mkdtempSync(join(tmpdir(), 'waitstate-'));
  const file = join(folder, 'state.json');
  const text = `${JSON.stringify(before, undefined, 2)}\n`;
  try {
    writeFileSync(file, text, { mode: 0o600 });
    for (;;) {
      await edit(file);
      const edited = readFileSync(file, 'utf8');
      if (edited === text || edited.trim() === '') throw new Declined('Nothing was changed.');
      try {
        return await apply(parseJson(edited, 'Your text'));
      } catch (error) {
        if (!isInvalidState(error)) throw error;
        printErr(...error.message.split('\n').map((line, i) => (i === 0 ? [styled('red', '✗ '), line] : `  ${line}`)));
      }
      const again = await ask(['Edit again?', dim(' [Y/n] ')]);
      if (again === undefined || /^n(o)?$/i.test(again.trim())) throw new Declined();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether an error is about the state itself, so that the user can correct it. */
const isInvalidState = (error: unknown): error is WaitstateError =>
  isWaitstateError(error, 'INVALID_INPUT', 'UNSUPPORTED_VALUE', 'SCHEMA_REFUSED', 'DAMAGED');
