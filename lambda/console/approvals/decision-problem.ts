import type { FormField } from '../../core/forms/form-field.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { type Html, html } from '../markup.ts';
import { notice, type ProblemSummary, problemNotice } from '../notice.ts';
import { userText } from '../text.ts';
import { valueFormOf } from './decide-form.ts';
import { fieldId, findField } from './value-form.ts';

/** Why a decision was not recorded, with a link to each field of the form that must be corrected. */
export function decisionProblem(approval: ApprovalDocument, problem: ProblemSummary): Html {
  const of = valueFormOf(approval, {}, problem);
  if (!of || of.problems.length === 0) return problemNotice(problem);
  const items = of.problems.map(({ path, message }) => {
    const field = findField(of.form, path);
    return html`<li><a href="#${fieldId(of, path) ?? 'answer'}">${field && labelOf(field)}${message}</a></li>`;
  });
  const title = of.name === 'value' ? 'Your answer was not recorded' : 'Your decision was not recorded';
  return notice('bad', title, html`<ul class="problems">${items}</ul>`);
}

const labelOf = ({ path, label }: FormField): Html | false => path !== '' && html`${userText(label)}: `;
