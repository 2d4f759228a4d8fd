import { checkPerson } from '../../lambda/core/approval.ts';
import { voterName } from '../../lambda/core/delegation.ts';
import { WaitstateError } from '../../lambda/core/errors.ts';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import type { ApprovalDocument } from '../../lambda/operator/approval-document.ts';
import type { Operator } from '../../lambda/operator/operator.ts';
import type { CommonOptions, Session } from '../session.ts';
import { dim, type Line, styled } from '../terminal/line.ts';
import { statusText } from '../terminal/status-style.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { formatRelativeTime } from '../terminal/times.ts';
import { printList } from './output/print-result.ts';

export interface ApprovalsOptions extends CommonOptions {
  readonly person?: string;
  readonly group?: readonly string[];
  readonly agent?: string;
  readonly name?: string;
}

/** Lists approvals: all pending ones, those that a person can decide, or those of one run. */
export async function approvals(session: Session, run: string | undefined, options: ApprovalsOptions): Promise<void> {
  const { operator } = await session.openTarget();
  const found = await findApprovals(operator, run, options);
  const { terminal, isJson } = session;
  await printList(session, found, () =>
    found.length === 0 ? [] : formatTable(columns(terminal.now(), run !== undefined), found, terminal.columns),
  );
  if (isJson) return;
  if (found.length === 0)
    terminal.printErr(dim(run === undefined ? 'No pending approvals.' : 'This run has no approvals.'));
  else if (run === undefined) terminal.printErr(dim('Run "waitstate show RUN" to see a request and how to decide it.'));
}

function findApprovals(
  operator: Operator,
  run: string | undefined,
  { person, group, agent, name }: ApprovalsOptions,
): Promise<readonly ApprovalDocument[]> {
  if (run !== undefined && person !== undefined)
    throw new WaitstateError('INVALID_INPUT', 'Use either a run or --person, not both.');
  if (group && person === undefined)
    throw new WaitstateError('INVALID_INPUT', '--group needs --person: it names the groups of that person.');
  if (run !== undefined && (agent !== undefined || name !== undefined))
    throw new WaitstateError('INVALID_INPUT', 'Use either a run, or --agent and --name, not both.');
  if (run !== undefined) return operator.approvals(run);
  const kind = omitUndefined({ agent, name });
  return person === undefined
    ? operator.pendingApprovals(kind)
    : operator.inbox(checkPerson('--person', person), { ...kind, ...omitUndefined({ groups: group }) });
}

const columns = (now: number, isOfRun: boolean): readonly Column<ApprovalDocument>[] => [
  ...(isOfRun ? [] : [{ title: 'RUN', cell: ({ run }: ApprovalDocument) => run, minWidth: 16 }]),
  { title: 'APPROVAL', cell: ({ id }) => id, minWidth: 8, ...(!isOfRun && { dropPriority: 3 }) },
  { title: 'TITLE', cell: ({ title }) => title, minWidth: 12 },
  ...(isOfRun ? [{ title: 'STATUS', cell: ({ status }: ApprovalDocument) => statusText(status) }] : []),
  { title: 'APPROVERS', cell: ({ approvers }) => approvers.join(' '), minWidth: 16, dropPriority: 5 },
  ...(isOfRun
    ? [
        {
          title: 'DECIDED BY',
          cell: ({ votes }: ApprovalDocument) => votes.map(voterName).join(', '),
          minWidth: 8,
          dropPriority: 2,
        },
      ]
    : []),
  {
    title: 'REQUESTED',
    cell: ({ requestedAt }) => formatRelativeTime(requestedAt, now),
    align: 'right',
    dropPriority: 4,
  },
  ...(isOfRun
    ? []
    : [
        {
          title: 'DEADLINE',
          cell: (approval: ApprovalDocument) => deadlineText(approval, now),
          align: 'right',
          dropPriority: 1,
        } as const,
      ]),
];

const HOUR_MS = 3_600_000;

/** The deadline, in red if it is less than an hour away. */
function deadlineText({ deadline }: ApprovalDocument, now: number): Line {
  if (!deadline) return '';
  const text = formatRelativeTime(deadline, now);
  return deadline.getTime() - now < HOUR_MS ? styled('red', text) : text;
}
