import type { ApprovalDocument } from '../../../lambda/operator/approval-document.ts';
import { bold, dim, type Line, styled, toSpans, wrapText } from '../../terminal/line.ts';
import { shellQuote } from '../../terminal/shell-quote.ts';
import { statusText } from '../../terminal/status-style.ts';
import { formatRelativeTime } from '../../terminal/times.ts';
import { documentLines } from './document-lines.ts';

/** An open approval: what is asked, of whom, until when, and how to answer at the command line. */
export function approvalLines(approval: ApprovalDocument, columns: number, now: number): readonly Line[] {
  const { run, id, title, show, facts, changed, approvers, quorum, votes, deadline, askedAt, editable } = approval;
  const room = Math.min(columns, 100) - 4;
  const said = votes.filter(({ answer }) => answer === 'approve').length;
  const asked = [
    `asked ${formatRelativeTime(askedAt, now)}`,
    ...(deadline ? [`until ${formatRelativeTime(deadline, now)}`] : []),
    ...(quorum > 1 ? [`${said} of ${quorum} approved`] : []),
  ];
  const person = approvers.find((each) => each.startsWith('user:')) ?? 'user:…';
  const group = approvers.includes(person) ? '' : ` --group ${shellQuote(approvers[0] ?? '')}`;
  const how = (answer: string) =>
    `waitstate ${answer} ${shellQuote(run)} ${shellQuote(id)} --as ${shellQuote(person)}${group}`;
  return [
    ...wrapText(title, room + 2).map((line, i) => [i === 0 ? styled('yellow', '? ') : '  ', bold(line)]),
    ...indented(wrapText(`${asked.join(', ')}; by ${approvers.join(', ')}`, room).map((line) => dim(line))),
    ...indented(show === undefined || show === null ? [] : documentLines(show, room)),
    ...indented(facts ? documentLines(facts, room) : []),
    ...(changed
      ? indented([
          dim('asked again, because the facts changed:'),
          ...documentLines(changed.before, room).map((line) => [styled('red', '- '), ...toSpans(line)]),
          ...documentLines(changed.after, room).map((line) => [styled('green', '+ '), ...toSpans(line)]),
        ])
      : []),
    '',
    ...indented([
      styled('green', how('approve')),
      styled('red', how('reject')),
      ...(editable ? wrapText(`--edits '{…}' with it says what to do otherwise`, room).map(dim) : []),
    ]),
  ];
}

const indented = (lines: readonly Line[]): readonly Line[] => lines.map((line) => ['    ', ...toSpans(line)]);

/** How an approval stands, in one line. */
export function outcomeLine({ status, votes, quorum, withdrawnBecause }: ApprovalDocument): Line {
  const said = votes.map(
    ({ by, answer, comment }) => `${by} ${answer}s${comment === undefined ? '' : ` (${comment})`}`,
  );
  const approvals = votes.filter(({ answer }) => answer === 'approve').length;
  return [
    statusText(status),
    ...(status === 'PENDING' && quorum > 1 ? [`  ${approvals} of ${quorum}`] : []),
    ...(said.length > 0 ? [dim(`  ${said.join(', ')}`)] : []),
    ...(withdrawnBecause === undefined ? [] : [dim(`  ${withdrawnBecause}`)]),
  ];
}
