import { type Doc, specialOf } from '../../lambda/checkpoints/engine.ts';
import { WaitstateError } from '../../lambda/core/errors.ts';
import { appendPointer, resolvePointer } from '../../lambda/operator/truncated-document.ts';
import { CommandError } from '../command-error.ts';
import { parseCheckpoint } from '../program/parse-arguments.ts';
import type { CommonOptions, Session } from '../session.ts';
import { jsonLines } from '../terminal/json-text.ts';
import { dim } from '../terminal/line.ts';
import { coloredJson } from './output/colored-json.ts';
import { printVerbatim } from './output/print-result.ts';

export interface StateOptions extends CommonOptions {
  readonly path?: string;
  readonly results?: boolean;
}

/** Prints the state of a checkpoint, or a part of it. */
export async function state(
  session: Session,
  { run, version }: { readonly run: string; readonly version: string | undefined },
  { path, results = false }: StateOptions,
): Promise<void> {
  const { operator } = await session.openTarget();
  const checkpoint = await operator.checkpoint(run, version === undefined ? undefined : parseCheckpoint(version));
  const whole: Doc = results ? checkpoint.toolResults : checkpoint.state;
  if (path === undefined) {
    await printVerbatim(session, checkpoint, () => jsonLines(whole).map(coloredJson));
    if (!results && !session.isJson && specialOf(whole) === 'undefined')
      session.terminal.printErr(dim('This agent keeps no state. Use --results to print its recorded results.'));
    return;
  }
  const part = resolvePointer(whole, toJsonPointer(path));
  if (part === undefined)
    throw new CommandError(
      'PART_NOT_FOUND',
      `Checkpoint ${checkpoint.version} of run "${run}" has nothing at ${path}. Run the command without --path to see everything.`,
    );
  await printVerbatim(session, part, () => jsonLines(part).map(coloredJson));
}

/** Converts a path as `diff` prints it to a JSON pointer; keeps a pointer unchanged. */
export function toJsonPointer(path: string): string {
  if (path === '' || path.startsWith('/')) return path;
  const steps = [...path.matchAll(/\.?([^.[\]]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/gy)];
  const read = steps.reduce((length, [text]) => length + text.length, 0);
  if (read < path.length)
    throw new WaitstateError(
      'INVALID_INPUT',
      `--path must have the form messages[0].text or /messages/0/text; found ${path}.`,
    );
  return steps.reduce(
    (pointer, [, key, index, quoted]) => appendPointer(pointer, key ?? index ?? unquoted(quoted)),
    '',
  );
}

const unquoted = (text = '""'): string => JSON.parse(text);
