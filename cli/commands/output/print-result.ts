import type { Session } from '../../session.ts';
import { jsonText } from '../../terminal/json-text.ts';
import type { Line } from '../../terminal/line.ts';
import { wrapLine } from '../../terminal/wrap-line.ts';

/** Prints the result of a command: one line of JSON with `--json`, otherwise wrapped sentences. */
export async function printResult(session: Session, value: unknown, lines: () => readonly Line[]): Promise<void> {
  const { columns } = session.terminal;
  await printVerbatim(session, value, () => lines().flatMap((line) => wrapLine(line, columns)));
}

/** Like `printResult`, but without wrapping: for drawings and text that users copy. */
export async function printVerbatim(
  { isJson, terminal }: Session,
  value: unknown,
  lines: () => readonly Line[],
): Promise<void> {
  if (isJson) await terminal.write(`${jsonText(value)}\n`);
  else terminal.print(...lines());
}

/** Like `printVerbatim`, but with one line of JSON for each item. */
export async function printList(
  { isJson, terminal }: Session,
  values: readonly unknown[],
  lines: () => readonly Line[],
): Promise<void> {
  if (!isJson) return terminal.print(...lines());
  for (const value of values) await terminal.write(`${jsonText(value)}\n`);
}

/** `1 run`, `2 runs`. */
export const pluralize = (number: number, singular: string, plural = `${singular}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? singular : plural}`;
