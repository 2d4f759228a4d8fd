import { WaitstateError } from '../../lambda/core/errors.ts';
import { present } from '../../lambda/core/omit-undefined.ts';
import type { ApprovalDocument } from '../../lambda/operator/approval-document.ts';
import type { Desk } from '../../lambda/operator/operator.ts';
import type { Located, Session } from '../session.ts';
import { dim, type Line, styled } from '../terminal/line.ts';
import { statusText } from '../terminal/status-style.ts';
import { type Column, table } from '../terminal/table.ts';
import { relative } from '../terminal/times.ts';
import { answerEach } from './output/print-result.ts';

export interface ApprovalsOptions extends Located {
  readonly person?: string;
  readonly group?: readonly string[];
}

/** Lists what is asked: of everybody, of a person, or by one run. */
export async function approvals(session: Session, run: string | undefined, options: ApprovalsOptions): Promise<void> {
  const { desk } = await session.open();
  const found = await find(desk, run, options);
  const { terminal, isJson } = session;
  await answerEach(session, found, () =>
    found.length === 0 ? [] : table(columns(terminal.now(), run !== undefined), found, terminal.columns),
  );
  if (isJson) return;
  if (found.length === 0) terminal.tell(dim(run === undefined ? 'Nobody is asked anything.' : 'It has asked nothing.'));
  else if (run === undefined) terminal.tell(dim('waitstate show RUN shows what is asked, and how to answer.'));
}

function find(
  desk: Desk,
  run: string | undefined,
  { person, group }: ApprovalsOptions,
): Promise<readonly ApprovalDocument[]> {
  if (run !== undefined && person !== undefined)
    throw new WaitstateError('INVALID_INPUT', 'Both a run and --person are given. Leave one of them out.');
  if (group && person === undefined)
    throw new WaitstateError(
      'INVALID_INPUT',
      '--group says in which groups a person is. Name the person too: --person.',
    );
  if (run !== undefined) return desk.approvals(run);
  return person === undefined ? desk.openApprovals() : desk.inbox(person, present({ groups: group }));
}

const columns = (now: number, isOfRun: boolean): readonly Column<ApprovalDocument>[] => [
  ...(isOfRun ? [] : [{ title: 'RUN', cell: ({ run }: ApprovalDocument) => run, least: 16 }]),
  { title: 'APPROVAL', cell: ({ id }) => id, least: 8, ...(!isOfRun && { leaveOut: 3 }) },
  { title: 'ASKS', cell: ({ title }) => title, least: 12 },
  ...(isOfRun ? [{ title: 'STATUS', cell: ({ status }: ApprovalDocument) => statusText(status) }] : []),
  { title: 'OF', cell: ({ approvers }) => approvers.join(' '), least: 16, leaveOut: 5 },
  ...(isOfRun
    ? [
        {
          title: 'BY',
          cell: ({ votes }: ApprovalDocument) => votes.map(({ by }) => by).join(' '),
          least: 8,
          leaveOut: 2,
        },
      ]
    : []),
  { title: 'ASKED', cell: ({ askedAt }) => relative(askedAt, now), align: 'right', leaveOut: 4 },
  ...(isOfRun
    ? []
    : [
        {
          title: 'UNTIL',
          cell: (approval: ApprovalDocument) => untilText(approval, now),
          align: 'right',
          leaveOut: 1,
        } as const,
      ]),
];

const HOUR_MS = 3_600_000;

/** When it is over; what is urgent stands out. */
function untilText({ deadline }: ApprovalDocument, now: number): Line {
  if (!deadline) return '';
  const text = relative(deadline, now);
  return deadline.getTime() - now < HOUR_MS ? styled('red', text) : text;
}
