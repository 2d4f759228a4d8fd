import { WaitstateError } from '../../../lambda/core/errors.ts';
import { parseAnswerFields, parseAnswerText } from '../../../lambda/core/forms/answer-text.ts';
import type { ApprovalDocument } from '../../../lambda/operator/approval-document.ts';
import type { CommonOptions, Session } from '../../session.ts';
import type { DeciderOptions } from '../input/decider.ts';
import { readTextFile } from '../input/json-argument.ts';
import { recordDecision } from './record-decision.ts';

export interface AnswerOptions extends CommonOptions, DeciderOptions {
  readonly value?: string;
  readonly field?: readonly string[];
  readonly file?: string;
}

/** Answers a question on behalf of a person, and prints its new status. */
export async function answer(
  session: Session,
  run: string,
  question: string | undefined,
  options: AnswerOptions,
): Promise<void> {
  const given = [options.value, options.field, options.file].filter((each) => each !== undefined);
  if (given.length !== 1)
    throw new WaitstateError(
      'INVALID_INPUT',
      'Give the answer with exactly one of --value, --field and --file. "waitstate show RUN" shows what the question expects. To decline it, use "waitstate reject".',
    );
  const text = options.file === undefined ? options.value : await readText(session, options.file);
  await recordDecision(session, { run, approval: question }, options, ({ answerSchema, id }: ApprovalDocument) => {
    if (!answerSchema)
      throw new WaitstateError(
        'INVALID_INPUT',
        `"${id}" is an approval, not a question. Use "waitstate approve" or "waitstate reject".`,
      );
    return {
      value:
        text === undefined
          ? parseAnswerFields(answerSchema, (options.field ?? []).map(toNamedText))
          : parseAnswerText(answerSchema, text),
    };
  });
}

async function readText({ terminal }: Session, file: string): Promise<string> {
  const text = file === '-' ? await terminal.readInput() : readTextFile(file);
  // Editors and `echo` add the last line break.
  return text.replace(/\r?\n$/, '');
}

function toNamedText(given: string): readonly [name: string, text: string] {
  const end = given.indexOf('=');
  if (end < 1)
    throw new WaitstateError('INVALID_INPUT', `--field must be NAME=VALUE, such as seat=aisle, but is "${given}".`);
  return [given.slice(0, end), given.slice(end + 1)];
}
