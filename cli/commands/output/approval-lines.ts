import type { Doc } from '../../../lambda/checkpoints/engine.ts';
import { isGroup } from '../../../lambda/core/approval.ts';
import { voterName } from '../../../lambda/core/delegation.ts';
import { describeAnswer } from '../../../lambda/core/forms/answer-text.ts';
import { type FormChoice, type FormField, toForm } from '../../../lambda/core/forms/form-field.ts';
import type { JsonSchema } from '../../../lambda/core/forms/json-schema.ts';
import { isExcluded } from '../../../lambda/core/requester.ts';
import type { ApprovalDocument } from '../../../lambda/operator/approval-document.ts';
import { bold, dim, type Line, styled, toSpans, wrapText } from '../../terminal/line.ts';
import { shellQuote } from '../../terminal/shell-quote.ts';
import { statusText } from '../../terminal/status-style.ts';
import { formatRelativeTime } from '../../terminal/times.ts';
import { documentLines } from './document-lines.ts';

/** Describes a pending approval: the request, its approvers and deadline, and the commands that decide it. */
export function approvalLines(approval: ApprovalDocument, columns: number, now: number): readonly Line[] {
  const { run, id, approvers, editable, answerSchema } = approval;
  const width = widthFor(columns);
  const known = [...approvers.filter((each) => !isGroup(each)), ...Object.values(approval.members ?? {}).flat()];
  const named = known.find((each) => !isExcluded(approval, each));
  const person = named ?? 'user:…';
  const group = named === undefined ? ` --group ${shellQuote(approvers.find(isGroup) ?? '')}` : '';
  const commandFor = (answer: string) =>
    `waitstate ${answer} ${shellQuote(run)} ${shellQuote(id)} --as ${shellQuote(person)}${group}`;
  return [
    ...requestLines(approval, columns, now),
    '',
    ...indent([
      ...(answerSchema ? expectedAnswer(answerSchema, width) : []),
      styled('green', answerSchema ? `${commandFor('answer')} ${answerOption(answerSchema)}` : commandFor('approve')),
      styled('red', commandFor('reject')),
      ...(editable ? wrapText(`add --edits '{…}' to change the request`, width).map(dim) : []),
    ]),
  ];
}

/** What a question can be answered with. */
function expectedAnswer(schema: JsonSchema, width: number): readonly Line[] {
  const form = toForm(schema);
  const lines =
    form.kind === 'group' ? form.fields.map((field) => `${field.name}: ${expectedOf(field)}`) : [expectedOf(form)];
  return [...lines.flatMap((line) => wrapText(line, width)).map(dim), ''];
}

/** How the command gives the answer. */
function answerOption(schema: JsonSchema): string {
  const form = toForm(schema);
  if (form.kind === 'group') return form.fields.map(({ name }) => `--field ${shellQuote(`${name}=…`)}`).join(' ');
  return form.kind === 'json' ? "--value '{…}'" : '--value …';
}

function expectedOf(field: FormField): string {
  const optional = field.isRequired ? '' : ' (optional)';
  if (field.kind === 'choice') return `one of ${choiceTexts(field.choices)}${optional}`;
  if (field.kind === 'choices') return `some of ${choiceTexts(field.choices)}, separated by commas${optional}`;
  if (field.kind === 'list')
    return `a list of ${field.item === 'text' ? 'texts' : 'numbers'}, separated by commas${optional}`;
  if (field.kind === 'group')
    return `fields named ${field.fields.map(({ name }) => `${field.name}.${name}`).join(', ')}${optional}`;
  if (field.kind === 'json') return `JSON${optional}`;
  return `${field.limits ?? (field.kind === 'number' ? 'a number' : 'text')}${optional}`;
}

const choiceTexts = (choices: readonly FormChoice[]): string =>
  choices.map(({ value, label }) => (String(value) === label ? label : `${String(value)} (${label})`)).join(', ');

const widthFor = (columns: number): number => Math.min(columns, 100) - 4;

/** What a request shows, with its approvers and deadline. Each document has at most `maxLines` lines. */
export function requestLines(
  approval: ApprovalDocument,
  columns: number,
  now: number,
  maxLines?: number,
): readonly Line[] {
  const { title, show, facts, changed, approvers, quorum, votes, deadline, requestedAt, proposal } = approval;
  const { answer, answerSchema } = approval;
  const width = widthFor(columns);
  const linesOf = (doc: Doc): readonly Line[] => documentLines(doc, width, maxLines);
  const approvedCount = votes.filter(({ answer, counts }) => counts && answer === 'approve').length;
  const details = [
    `requested ${formatRelativeTime(requestedAt, now)}`,
    ...(deadline ? [`expires ${formatRelativeTime(deadline, now)}`] : []),
    ...(quorum > 1 ? [`${approvedCount} of ${quorum} ${answerSchema ? 'equal answers' : 'approved'}`] : []),
  ];
  return [
    ...wrapText(title, width + 2).map((line, i) => [i === 0 ? styled('yellow', '? ') : '  ', bold(line)]),
    ...indent(wrapText(`${details.join(', ')}; approvers: ${approvers.join(', ')}`, width).map((line) => dim(line))),
    ...indent(show === undefined || show === null ? [] : linesOf(show)),
    ...indent(facts ? linesOf(facts) : []),
    // Whether a change is good or bad is for the reader to say, so neither value is green or red.
    ...(changed
      ? indent([
          dim(`${answerSchema ? 'asked' : 'requested'} again, because ${whyAgain(approval)}:`),
          ...linesOf(changed.before).map((line) => [dim('- '), ...toSpans(line)]),
          ...linesOf(changed.after).map((line) => [styled('yellow', '+ '), ...toSpans(line)]),
        ])
      : []),
    ...(proposal
      ? indent([dim(`${voterName(proposal)} proposes these changes:`), ...linesOf(proposal.edits as Doc)])
      : []),
    ...(answer && answerSchema
      ? indent([dim(`${voterName(answer)} answered:`), ...wrapText(describeAnswer(answerSchema, answer.value), width)])
      : []),
  ];
}

/** Facts that changed, or an answer or edits that the agent refused. */
const whyAgain = ({ changed, answerSchema }: ApprovalDocument): string =>
  typeof changed?.after === 'string'
    ? `the agent did not accept ${answerSchema ? 'the answer' : 'the changes'}`
    : 'the facts changed';

const indent = (lines: readonly Line[]): readonly Line[] => lines.map((line) => ['    ', ...toSpans(line)]);

/** The status and the votes of an approval, on one line. */
export function outcomeLine({ status, votes, quorum, withdrawalReason, answerSchema }: ApprovalDocument): Line {
  const voteText = ({ answer, value }: ApprovalDocument['votes'][number]): string => {
    if (!answerSchema) return `${answer}s`;
    return answer === 'reject' ? 'declines' : `answers ${describeAnswer(answerSchema, value)}`;
  };
  const votesText = votes.map(
    (vote) => `${voterName(vote)} ${voteText(vote)}${vote.comment === undefined ? '' : ` (${vote.comment})`}`,
  );
  const approvals = votes.filter(({ answer, counts }) => counts && answer === 'approve').length;
  return [
    statusText(status),
    ...(status === 'PENDING' && quorum > 1 ? [`  ${approvals} of ${quorum}`] : []),
    ...(votesText.length > 0 ? [dim(`  ${votesText.join(', ')}`)] : []),
    ...(withdrawalReason === undefined ? [] : [dim(`  ${withdrawalReason}`)]),
  ];
}
