import type { ApprovalRequest } from '../../core/approval.ts';
import { isWaitstateError } from '../../core/errors.ts';
import { findProblems } from '../../core/forms/find-problems.ts';
import { type QuestionTerms, toAnswerSchema } from '../../core/forms/question-schema.ts';
import { RefusedValueError } from '../../core/forms/refused-value-error.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import type { ApprovalOptions, Facts } from '../definition/agent-context.ts';
import type { QuestionOptions } from '../definition/question.ts';
import { isStandardSchema, type StandardSchema, validate } from '../definition/standard-schema.ts';
import { toJsonSchema } from '../definition/to-json-schema.ts';

type Schemas = Pick<ApprovalRequest, 'answerSchema' | 'editsSchema'>;

/** What `ctx.approval` or `ctx.ask` asks for. */
export interface AskedApproval {
  readonly options: Omit<ApprovalOptions<unknown>, 'editable'>;
  readonly isQuestion: boolean;
  readonly isEditable: boolean;
  /** Whether a decision carries something that the agent has to check. */
  readonly isChecked: boolean;
  /** The JSON Schemas of the forms that people get. */
  schemas(): Schemas;
  /** The answer or the edits as the agent gets them; throws SCHEMA_REFUSED. */
  check(carried: unknown): Promise<unknown>;
}

/** What `ctx.approval` asks for. */
export function askedApproval({ editable, ...options }: ApprovalOptions<unknown>): AskedApproval {
  const schema = isStandardSchema(editable) ? editable : undefined;
  return {
    options,
    isQuestion: false,
    isEditable: editable !== undefined && editable !== false,
    isChecked: schema !== undefined,
    schemas() {
      const editsSchema = schema && toJsonSchema(schema);
      return editsSchema ? { editsSchema } : {};
    },
    check: async (edits) => (edits === undefined ? undefined : validate('The edited value', schema, edits)),
  };
}

/** The options of `ctx.ask`, as code without types could give them. */
export type AnyQuestion = QuestionOptions & Omit<QuestionTerms, 'answerSchema'> & { readonly answer?: StandardSchema };

/** What `ctx.ask` asks for. */
export function askedQuestion({ choices, multiple, text, answer, ...options }: AnyQuestion): AskedApproval {
  if (answer !== undefined && !isStandardSchema(answer))
    throw invalidInput('`answer`', 'a schema that implements Standard Schema, such as a zod schema', answer);
  const terms = toAnswerSchema({ choices, multiple, text, answerSchema: answer && {} });
  return {
    options: options as AskedApproval['options'],
    isQuestion: true,
    isEditable: false,
    isChecked: true,
    // Without a JSON Schema, people enter JSON.
    schemas: () => ({ answerSchema: answer ? (toJsonSchema(answer) ?? {}) : terms }),
    async check(value) {
      if (answer) return validate('The answer', answer, value);
      const problems = findProblems(terms, value);
      if (problems.length > 0) throw new RefusedValueError('value', problems);
      return value;
    },
  };
}

/** The request as it is stored, with title and content made from the given facts. */
export function toApprovalRequest(
  { options, isEditable }: AskedApproval,
  facts: Facts | undefined,
  schemas: Schemas = {},
): ApprovalRequest {
  const {
    title,
    show,
    facts: _facts,
    recheck: _recheck,
    same: _same,
    maxRequests: _maxRequests,
    key: _key,
    ...request
  } = options;
  return {
    ...request,
    ...schemas,
    title: typeof title === 'function' ? title(facts ?? {}) : title,
    ...(show !== undefined && { show: typeof show === 'function' ? show(facts ?? {}) : show }),
    ...(facts && { facts }),
    ...(isEditable && { editable: true }),
  };
}

/** What a decision carries, checked; or why it is refused. */
export async function checkCarried(
  asked: AskedApproval,
  carried: unknown,
): Promise<{ readonly value: unknown } | { readonly issues: string }> {
  try {
    return { value: await asked.check(carried) };
  } catch (error) {
    if (!isWaitstateError(error, 'SCHEMA_REFUSED')) throw error;
    return { issues: error.message };
  }
}
