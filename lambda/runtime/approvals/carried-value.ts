import type { RunCipher } from '../../checkpoints/engine.ts';
import type { ApprovalMeta } from '../../core/approval.ts';
import { findProblems } from '../../core/forms/find-problems.ts';
import { sortSelection } from '../../core/forms/question-schema.ts';
import { RefusedValueError } from '../../core/forms/refused-value-error.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { readApprovalDocument } from './approval-content.ts';
import type { AnswerInput } from './decide-input.ts';
import type { FoundApproval } from './find-approval.ts';

/** What a vote carries, besides its comment. */
export interface CarriedValue {
  /** The answer to a question, or the changes to a request; undefined without either. */
  readonly value: unknown;
  /** Refuses a value that does not match the form of the request. */
  check(): void;
}

const NOTHING: CarriedValue = { value: undefined, check: () => {} };

/** The answer or the changes that a decision carries; refuses what does not belong to this kind of request. */
export async function readCarriedValue(
  { at, approval }: FoundApproval,
  cipher: RunCipher,
  input: AnswerInput,
): Promise<CarriedValue> {
  const { meta } = approval;
  checkKind(meta, input);
  const given = meta.question ? input.value : input.edits;
  if (given === undefined) return NOTHING;
  const { answerSchema, editsSchema } = await readApprovalDocument(at, cipher, approval);
  const schema = meta.question ? answerSchema : editsSchema;
  if (!schema) return { value: given, check: () => {} };
  return {
    value: sortSelection(schema, given),
    check() {
      const problems = findProblems(schema, given);
      if (problems.length > 0) throw new RefusedValueError(meta.question ? 'value' : 'edits', problems);
    },
  };
}

function checkKind({ question, editable, name }: ApprovalMeta, { answer, edits, value }: AnswerInput): void {
  if (!question && value !== undefined)
    throw invalidInput('`value`', `absent, because "${name}" is not a question (approve or reject it instead)`, value);
  if (!question && edits !== undefined && !editable)
    throw invalidInput(
      '`edits`',
      'absent, because this approval cannot be edited (reject it with a comment instead)',
      edits,
    );
  if (!question) return;
  if (edits !== undefined)
    throw invalidInput('`edits`', `absent, because "${name}" is a question (pass \`value\` instead)`, edits);
  if (answer === 'reject' && value !== undefined)
    throw invalidInput('`value`', 'absent, because you decline to answer', value);
  if (answer !== 'reject' && value === undefined)
    throw invalidInput('`value`', `the answer, because "${name}" is a question (to decline, reject it)`, value);
}
