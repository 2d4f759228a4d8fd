import { checkPerson } from '../../../lambda/core/approval.ts';
import { WaitstateError } from '../../../lambda/core/errors.ts';
import { omitUndefined } from '../../../lambda/core/omit-undefined.ts';
import type { DelegationView } from '../../../lambda/runtime/approvals/delegations.ts';
import type { CommonOptions, Session } from '../../session.ts';
import { bold, dim, type Line, styled } from '../../terminal/line.ts';
import { type Column, formatTable } from '../../terminal/table.ts';
import { formatRelativeTime, formatTime } from '../../terminal/times.ts';
import { requireActingPerson } from '../input/acting-person.ts';
import { printList, printResult } from '../output/print-result.ts';

export interface DelegateOptions extends CommonOptions {
  readonly as?: string;
  readonly until?: Date;
  readonly from?: Date;
  readonly group?: readonly string[];
  readonly end?: boolean;
}

/** Makes or ends the delegation of a person, and prints it. */
export async function delegate(session: Session, to: string | undefined, options: DelegateOptions): Promise<void> {
  const person = requireActingPerson(session, options.as);
  const { until, from, group: groups, end = false } = options;
  if (end) return endDelegation(session, person, [to, until, from, groups]);
  if (to === undefined || until === undefined)
    throw new WaitstateError(
      'INVALID_INPUT',
      'Say who answers and until when, such as "waitstate delegate user:cho --until 5d". To end a delegation, pass --end.',
    );
  const { operator } = await session.openTarget();
  const made = await operator.delegate({
    person,
    delegate: checkPerson('The delegate', to),
    until,
    ...omitUndefined({ from, groups }),
  });
  await printResult(session, made, () => [madeLine(made, session.terminal.now())]);
}

async function endDelegation(session: Session, person: `user:${string}`, others: readonly unknown[]): Promise<void> {
  if (others.some((each) => each !== undefined))
    throw new WaitstateError('INVALID_INPUT', 'With --end, pass only --as: the person whose delegation ends.');
  const { operator } = await session.openTarget();
  const ended = await operator.endDelegation(person);
  await printResult(session, { person, ended: ended !== undefined }, () => [
    ended
      ? [styled('green', '✓ '), bold(ended.delegate), ' no longer answers for ', bold(person)]
      : [dim(`${person} has no delegation.`)],
  ]);
}

function madeLine({ person, delegate: to, from, until }: DelegationView, now: number): Line {
  const begins = from.getTime() > now ? ` from ${formatTime(from)}` : '';
  return [styled('green', '✓ '), bold(to), ' answers for ', bold(person), `${begins} until ${formatTime(until)}`];
}

export interface DelegationsOptions extends CommonOptions {
  readonly person?: string;
}

/** Lists the delegations that have not ended. */
export async function delegations(session: Session, { person }: DelegationsOptions): Promise<void> {
  const { operator } = await session.openTarget();
  const found = await operator.delegations(person === undefined ? {} : { person: checkPerson('--person', person) });
  const { terminal, isJson } = session;
  await printList(session, found, () =>
    found.length === 0 ? [] : formatTable(columns(terminal.now()), found, terminal.columns),
  );
  if (!isJson && found.length === 0) terminal.printErr(dim('No delegations.'));
}

const columns = (now: number): readonly Column<DelegationView>[] => [
  { title: 'AWAY', cell: ({ person }) => person, minWidth: 10 },
  { title: 'ANSWERS', cell: ({ delegate: to }) => to, minWidth: 10 },
  { title: 'FROM', cell: ({ from }) => (from.getTime() <= now ? 'now' : formatTime(from)), dropPriority: 1 },
  { title: 'UNTIL', cell: ({ until }) => `${formatTime(until)} (${formatRelativeTime(until, now)})` },
  { title: 'MADE BY', cell: ({ createdBy }) => createdBy, minWidth: 10, dropPriority: 2 },
];
