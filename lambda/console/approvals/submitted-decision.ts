import { parseAnswerText } from '../../core/forms/answer-text.ts';
import { findProblems } from '../../core/forms/find-problems.ts';
import { type FormField, toForm } from '../../core/forms/form-field.ts';
import type { JsonSchema } from '../../core/forms/json-schema.ts';
import { RefusedValueError } from '../../core/forms/refused-value-error.ts';
import { readForm } from '../../core/forms/submitted-form.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import type { AnswerInput } from '../../runtime/approvals/decide-input.ts';
import { parseDocument } from '../request.ts';
import { currentAnswer, currentEdits } from './current-value.ts';

/** The fields of a submitted form, by name. */
export type SubmittedFields = Readonly<Record<string, string>>;

/** The name of the field that says that a form has one field for each value, and which value that is. */
export const FORM_FIELD = 'form';

/** Whether a field of a form is a part of an answer or of edits. */
export const isValueField = (name: string): boolean => name === FORM_FIELD || /^(value|edits)\//.test(name);

/** The decision in a submitted form. Refuses an answer or edits that do not match the schema, field by field. */
export function readDecisionForm(approval: ApprovalDocument, fields: SubmittedFields): AnswerInput {
  const { answer, comment, contentHash } = fields;
  const decision = omitUndefined({ answer, comment, contentHash });
  // The other fields are sent along when someone rejects.
  const carried =
    answer === 'reject' ? {} : approval.answerSchema ? readAnswer(approval, fields) : readEdits(approval, fields);
  // What is missing or wrong here is refused when the decision is recorded.
  return { ...decision, ...carried } as AnswerInput;
}

function readAnswer(approval: ApprovalDocument, fields: SubmittedFields): { readonly value?: unknown } {
  const { answerSchema: schema = {} } = approval;
  if (fields[FORM_FIELD] === undefined)
    return fields.value === undefined ? {} : { value: parseAnswerText(schema, fields.value) };
  const { value } = readValue('value', schema, toForm(schema), fields, currentAnswer(approval));
  return { value };
}

function readEdits(approval: ApprovalDocument, fields: SubmittedFields): { readonly edits?: unknown } {
  const { editsSchema: schema } = approval;
  if (!schema || fields[FORM_FIELD] === undefined)
    return fields.edits === undefined ? {} : { edits: parseDocument('Your changes', fields.edits) };
  const form = toForm(schema);
  const { value, isChanged } = readValue('edits', schema, form, fields, currentEdits(approval, form));
  return isChanged ? { edits: value } : {};
}

function readValue(
  name: 'value' | 'edits',
  schema: JsonSchema,
  form: FormField,
  fields: SubmittedFields,
  current: unknown,
) {
  const read = (path: string) => (Object.hasOwn(fields, name + path) ? fields[name + path] : undefined);
  const submitted = readForm(form, read, current);
  // Without changes, a request is approved as it is shown.
  if (name === 'edits' && !submitted.isChanged) return submitted;
  const isNew = ({ path }: { readonly path: string }) => !submitted.problems.some((known) => known.path === path);
  const problems = [...submitted.problems, ...findProblems(schema, submitted.value).filter(isNew)];
  if (problems.length > 0) throw new RefusedValueError(name, problems);
  return submitted;
}
