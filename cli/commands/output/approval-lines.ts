import type { Doc } from '../../../lambda/checkpoints/engine.ts';
import { isGroup } from '../../../lambda/core/approval.ts';
import { isExcluded } from '../../../lambda/core/requester.ts';
import type { ApprovalDocument } from '../../../lambda/operator/approval-document.ts';
import { bold, dim, type Line, styled, toSpans, wrapText } from '../../terminal/line.ts';
import { shellQuote } from '../../terminal/shell-quote.ts';
import { statusText } from '../../terminal/status-style.ts';
import { formatRelativeTime } from '../../terminal/times.ts';
import { documentLines } from './document-lines.ts';

/** Describes a pending approval: the request, its approvers and deadline, and the commands that decide it. */
export function approvalLines(approval: ApprovalDocument, columns: number, now: number): readonly Line[] {
  const { run, id, approvers, editable } = approval;
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
      styled('green', commandFor('approve')),
      styled('red', commandFor('reject')),
      ...(editable ? wrapText(`add --edits '{…}' to change the request`, width).map(dim) : []),
    ]),
  ];
}

const widthFor = (columns: number): number => Math.min(columns, 100) - 4;

/** What a request shows, with its approvers and deadline. Each document has at most `maxLines` lines. */
export function requestLines(
  approval: ApprovalDocument,
  columns: number,
  now: number,
  maxLines?: number,
): readonly Line[] {
  const { title, show, facts, changed, approvers, quorum, votes, deadline, requestedAt, proposal } = approval;
  const width = widthFor(columns);
  const linesOf = (doc: Doc): readonly Line[] => documentLines(doc, width, maxLines);
  const approvedCount = votes.filter(({ answer, counts }) => counts && answer === 'approve').length;
  const details = [
    `requested ${formatRelativeTime(requestedAt, now)}`,
    ...(deadline ? [`expires ${formatRelativeTime(deadline, now)}`] : []),
    ...(quorum > 1 ? [`${approvedCount} of ${quorum} approved`] : []),
  ];
  return [
    ...wrapText(title, width + 2).map((line, i) => [i === 0 ? styled('yellow', '? ') : '  ', bold(line)]),
    ...indent(wrapText(`${details.join(', ')}; approvers: ${approvers.join(', ')}`, width).map((line) => dim(line))),
    ...indent(show === undefined || show === null ? [] : linesOf(show)),
    ...indent(facts ? linesOf(facts) : []),
    // Whether a change is good or bad is for the reader to say, so neither value is green or red.
    ...(changed
      ? indent([
          dim('requested again, because the facts changed:'),
          ...linesOf(changed.before).map((line) => [dim('- '), ...toSpans(line)]),
          ...linesOf(changed.after).map((line) => [styled('yellow', '+ '), ...toSpans(line)]),
        ])
      : []),
    ...(proposal ? indent([dim(`${proposal.by} proposes these changes:`), ...linesOf(proposal.edits as Doc)]) : []),
  ];
}

const indent = (lines: readonly Line[]): readonly Line[] => lines.map((line) => ['    ', ...toSpans(line)]);

/** The status and the votes of an approval, on one line. */
export function outcomeLine({ status, votes, quorum, withdrawalReason }: ApprovalDocument): Line {
  const votesText = votes.map(
    ({ by, answer, comment }) => `${by} ${answer}s${comment === undefined ? '' : ` (${comment})`}`,
  );
  const approvals = votes.filter(({ answer, counts }) => counts && answer === 'approve').length;
  return [
    statusText(status),
    ...(status === 'PENDING' && quorum > 1 ? [`  ${approvals} of ${quorum}`] : []),
    ...(votesText.length > 0 ? [dim(`  ${votesText.join(', ')}`)] : []),
    ...(withdrawalReason === undefined ? [] : [dim(`  ${withdrawalReason}`)]),
  ];
}
