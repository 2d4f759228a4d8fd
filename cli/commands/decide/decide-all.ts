import { voterName } from '../../../lambda/core/delegation.ts';
import { isWaitstateError, WaitstateError } from '../../../lambda/core/errors.ts';
import { omitUndefined } from '../../../lambda/core/omit-undefined.ts';
import type { ApprovalDocument } from '../../../lambda/operator/approval-document.ts';
import { type DecideAllResult, MAX_DECIDED_TOGETHER } from '../../../lambda/runtime/approvals/decide-all.ts';
import { EXIT, EXIT_CODE_BY_ERROR, type ExitCode } from '../../exit-codes.ts';
import type { Session } from '../../session.ts';
import { bold, type Line, styled, wrapText } from '../../terminal/line.ts';
import { confirm } from '../input/confirm.ts';
import { toDecider } from '../input/decider.ts';
import { findRequests, type ListedRequest } from '../input/find-requests.ts';
import { outcomeLine, requestLines } from '../output/approval-lines.ts';
import { pluralize, printList } from '../output/print-result.ts';
import { warnIfNoServer } from '../output/warn-if-no-server.ts';
import type { DecideOptions } from './decide.ts';

type Result = DecideAllResult<ApprovalDocument>;

/**
 * Lists the pending requests of one kind in full, asks for confirmation, and decides each of them by itself, on exactly
 * what it listed. Exits with 0 if all were decided.
 */
export async function decideAll(
  session: Session,
  answer: 'approve' | 'reject',
  options: DecideOptions,
): Promise<ExitCode> {
  const decider = toDecider(session, options);
  const { by, for: person } = decider;
  if (options.edits !== undefined)
    throw new WaitstateError('INVALID_INPUT', '--edits changes one request. Name its run, or leave out --edits.');
  const target = await session.openTarget();
  const { agent, name, from: file, yes } = options;
  const selection = omitUndefined({ agent, name, from: file });
  const requests = await findRequests(session, target.operator, { ...selection, ...decider });
  listRequests(session, requests);
  const action = answer === 'approve' ? 'approved' : 'rejected';
  await confirm(
    session,
    `${pluralize(requests.length, 'request')} will be ${action} by ${voterName({ by, for: person })}. Each decision is recorded separately.`,
    yes,
  );
  const results: Result[] = [];
  for (let from = 0; from < requests.length; from += MAX_DECIDED_TOGETHER) {
    const approvals = requests.slice(from, from + MAX_DECIDED_TOGETHER);
    results.push(
      ...(await target.operator.decideAll({
        ...decider,
        answer,
        approvals: approvals.map(({ run, approval, contentHash }) => ({ run, approval, contentHash })),
      })),
    );
  }
  await printList(session, results.map(toJson), () => results.flatMap((result) => resultLines(result, session)));
  if (results.some((result) => 'view' in result && result.view.status !== 'PENDING'))
    await warnIfNoServer(session, target);
  return exitCodeOf(results);
}

/** Prints everything that each request shows. With `--json`, only the results are printed. */
function listRequests({ terminal, isJson }: Session, requests: readonly ListedRequest[]): void {
  if (isJson) return;
  for (const { run, approval, found } of requests) {
    terminal.printErr(bold(`${run} ${approval}`));
    if (found) terminal.printErr(...requestLines(found, terminal.columns, terminal.now(), Infinity), '');
  }
}

const toJson = (result: Result): object => {
  const { run, approval } = result;
  if ('view' in result) return { ...result.view, isNew: result.isNew };
  return { run, id: approval, error: { code: codeOf(result.error), message: messageOf(result.error) } };
};

function resultLines(result: Result, { terminal }: Session): readonly Line[] {
  const name = `${result.run} ${result.approval}`;
  if ('view' in result) {
    const mark = result.isNew ? styled('green', '✓ ') : styled('yellow', '= ');
    return [[mark, bold(name), '  ', ...[outcomeLine(result.view)].flat()]];
  }
  const lines = wrapText(messageOf(result.error), Math.min(terminal.columns, 100) - 2);
  return [[styled('red', '✗ '), bold(name)], ...lines.map((line) => `  ${line}`)];
}

const codeOf = (error: unknown): string => (isWaitstateError(error) ? error.code : 'UNEXPECTED');
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The exit code of the errors if they agree; otherwise the command failed. */
function exitCodeOf(results: readonly Result[]): ExitCode {
  const codes = new Set(
    results.flatMap((result): readonly ExitCode[] => {
      if (!('error' in result)) return [];
      return [isWaitstateError(result.error) ? EXIT_CODE_BY_ERROR[result.error.code] : EXIT.failed];
    }),
  );
  const [only = EXIT.ok, ...others] = codes;
  return others.length > 0 ? EXIT.failed : only;
}
