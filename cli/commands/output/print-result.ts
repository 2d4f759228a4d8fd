import type { Session } from '../../session.ts';
import { jsonText } from '../../terminal/json-text.ts';
import type { Line } from '../../terminal/line.ts';
import { prose } from '../../terminal/prose.ts';

/** Gives the answer of a command: one line of JSON to programs, sentences to people. */
export async function answer(session: Session, value: unknown, lines: () => readonly Line[]): Promise<void> {
  const { columns } = session.terminal;
  await answerAsIs(session, value, () => lines().flatMap((line) => prose(line, columns)));
}

/** The same of what is drawn, or is to be copied as it is. */
export async function answerAsIs(
  { isJson, terminal }: Session,
  value: unknown,
  lines: () => readonly Line[],
): Promise<void> {
  if (isJson) await terminal.write(`${jsonText(value)}\n`);
  else terminal.say(...lines());
}

/** The same of a list: a line of JSON for each. */
export async function answerEach(
  { isJson, terminal }: Session,
  values: readonly unknown[],
  lines: () => readonly Line[],
): Promise<void> {
  if (!isJson) return terminal.say(...lines());
  for (const value of values) await terminal.write(`${jsonText(value)}\n`);
}

/** `1 run`, `2 runs`. */
export const counted = (number: number, what: string, many = `${what}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? what : many}`;
