import { WaitstateError } from '../../../lambda/core/errors.ts';
import { omitUndefined } from '../../../lambda/core/omit-undefined.ts';
import type { CommonOptions, Session } from '../../session.ts';
import type { DeciderOptions } from '../input/decider.ts';
import { readTextFile } from '../input/json-argument.ts';
import { parseJson } from '../input/parse-json.ts';
import { type DecidedApproval, recordDecision } from './record-decision.ts';

export interface DecideOptions extends CommonOptions, DeciderOptions {
  readonly edits?: string;
  /** Only for several requests. */
  readonly agent?: string;
  readonly name?: string;
  readonly from?: string;
  readonly yes?: boolean;
}

/** The approval, and the decision on it. */
export interface DecideArguments extends DecidedApproval {
  readonly answer: 'approve' | 'reject';
}

/** Decides an approval on behalf of a person, and prints its new status. */
export async function decide(
  session: Session,
  { run, approval, answer }: DecideArguments,
  options: DecideOptions,
): Promise<void> {
  for (const option of ['agent', 'name', 'from', 'yes'] as const)
    if (options[option] !== undefined)
      throw new WaitstateError(
        'INVALID_INPUT',
        `--${option} is for several requests. Leave out the run, or --${option}.`,
      );
  const edits = options.edits === undefined ? undefined : readEdits(options.edits);
  await recordDecision(session, { run, approval }, options, ({ id, answerSchema }) => {
    if (answerSchema && answer === 'approve')
      throw new WaitstateError(
        'INVALID_INPUT',
        `"${id}" is a question. Answer it with "waitstate answer", or decline it with "waitstate reject".`,
      );
    return { answer, ...omitUndefined({ edits }) };
  });
}

function readEdits(text: string): unknown {
  if (!text.startsWith('@')) return parseJson(text, '--edits');
  return parseJson(readTextFile(text.slice(1)), `The file ${text.slice(1)}`);
}
