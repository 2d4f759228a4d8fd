import { type Doc, isContainer, isFields, plainHeight, specialOf } from '../../checkpoints/engine.ts';
import type { FormField } from '../../core/forms/form-field.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { rejectedEdits } from './changed-facts.ts';

/** Whether a document is plain JSON, as edits and answers must be. */
export const isPlain = (doc: Doc): boolean => !isContainer(doc) || plainHeight(doc) > 0;

/** What the agent refused before it asked again; undefined if it asks for the first time, or facts changed. */
export function refusedValue({ changed }: ApprovalDocument): Doc | undefined {
  const refused = changed && rejectedEdits(changed) !== undefined ? changed.before : undefined;
  return refused !== undefined && isPlain(refused) ? refused : undefined;
}

/** The answer that the form of a question shows first: the newest one, or the one that the agent refused. */
export const currentAnswer = (approval: ApprovalDocument): unknown =>
  approval.answer === undefined ? refusedValue(approval) : approval.answer.value;

/**
 * The values that the form for changes shows first. Each field has the value of the newest proposal, of the edits that
 * the agent refused, or of what the request shows under the same name.
 */
export function currentEdits(approval: ApprovalDocument, form: FormField): unknown {
  const { proposal, facts, show } = approval;
  const edited = proposal ? (proposal.edits as Doc) : refusedValue(approval);
  if (form.kind !== 'group') return edited;
  const sources = [edited, facts, show].filter((doc) => isFields(doc) && specialOf(doc) === undefined);
  return Object.fromEntries(
    form.fields.flatMap(({ name }) => {
      const source = sources.find((doc) => isFields(doc) && Object.hasOwn(doc, name) && isPlain(doc[name] ?? null));
      return isFields(source) ? [[name, source[name]] as const] : [];
    }),
  );
}
