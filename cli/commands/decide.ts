import { WaitstateError } from '../../lambda/core/errors.ts';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import type { ApprovalDocument } from '../../lambda/operator/approval-document.ts';
import type { CommonOptions, Session } from '../session.ts';
import { bold, type Line, styled, wrapText } from '../terminal/line.ts';
import { requireActingPerson } from './input/acting-person.ts';
import { findApproval } from './input/find-approval.ts';
import { readTextFile } from './input/json-argument.ts';
import { parseJson } from './input/parse-json.ts';
import { outcomeLine } from './output/approval-lines.ts';
import { printResult } from './output/print-result.ts';
import { warnIfNoServer } from './output/warn-if-no-server.ts';

export interface DecideOptions extends CommonOptions {
  readonly as?: string;
  readonly group?: readonly string[];
  readonly comment?: string;
  readonly edits?: string;
  /** Only for several requests. */
  readonly agent?: string;
  readonly name?: string;
  readonly from?: string;
  readonly yes?: boolean;
}

/** The approval, and the decision on it. */
export interface DecideArguments {
  readonly run: string;
  /** @default the only pending approval of the run */
  readonly approval: string | undefined;
  readonly answer: 'approve' | 'reject';
}

/** Decides an approval on behalf of a person, and prints its new status. */
export async function decide(session: Session, decision: DecideArguments, options: DecideOptions): Promise<void> {
  const { terminal } = session;
  for (const option of ['agent', 'name', 'from', 'yes'] as const)
    if (options[option] !== undefined)
      throw new WaitstateError(
        'INVALID_INPUT',
        `--${option} is for several requests. Leave out the run, or --${option}.`,
      );
  const by = requireActingPerson(session, options.as);
  const edits = options.edits === undefined ? undefined : readEdits(options.edits);
  const target = await session.openTarget();
  const approval = await findApproval(target.operator, decision.run, decision.approval);
  const decided = await target.operator.decide(decision.run, {
    approval: approval.id,
    by,
    answer: decision.answer,
    // The decision applies only to the request that was just read.
    ...(approval.status === 'PENDING' && { contentHash: approval.contentHash }),
    ...omitUndefined({ groups: options.group, comment: options.comment, edits }),
    ...(options.group && { membership: 'stated' as const }),
  });
  await printResult(session, decided, () => decisionLines(decided, terminal.columns));
  if (decided.status !== 'PENDING') await warnIfNoServer(session, target);
}

function readEdits(text: string): unknown {
  if (!text.startsWith('@')) return parseJson(text, '--edits');
  return parseJson(readTextFile(text.slice(1)), `The file ${text.slice(1)}`);
}

function decisionLines(approval: ApprovalDocument, columns: number): readonly Line[] {
  const mark = approval.status === 'REJECTED' ? styled('red', '✗ ') : styled('green', '✓ ');
  const [first = '', ...rest] = wrapText(approval.title, Math.min(columns, 100) - 2);
  return [[mark, bold(first)], ...rest.map((line) => ['  ', bold(line)]), ['  ', ...[outcomeLine(approval)].flat()]];
}
