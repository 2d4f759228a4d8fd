import { isWaitstateError } from '../../lambda/core/errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Session } from '../session.ts';
import { resolveTarget } from '../target/resolve-target.ts';
import type { AwsTarget, FolderTarget } from '../target/target.ts';
import { jsonText } from '../terminal/json-text.ts';
import { dim, type Line, type Style, styled, wrapText } from '../terminal/line.ts';
import { checkNode } from './doctor/check-node.ts';
import { type Finding, fail, ok } from './doctor/finding.ts';
import { pluralize } from './output/print-result.ts';

/** Checks the setup, part by part, and says how to fix problems; exit code 1 if there are any. */
export async function doctor(session: Session, nodeVersion = process.versions.node): Promise<ExitCode> {
  const { terminal, isJson } = session;
  const counts = { ok: 0, warn: 0, fail: 0 };
  for await (const finding of runChecks(session, nodeVersion)) {
    counts[finding.status] += 1;
    if (isJson) await terminal.write(`${jsonText(finding)}\n`);
    else terminal.print(...findingLines(finding, Math.min(terminal.columns, 100)));
  }
  if (!isJson) terminal.print('', summary(counts));
  return counts.fail > 0 ? EXIT.failed : EXIT.ok;
}

async function* runChecks(session: Session, nodeVersion: string): AsyncGenerator<Finding> {
  yield checkNode(nodeVersion);
  const target = await findTarget(session);
  if ('status' in target) return yield target;
  if (target.kind === 'folder') {
    yield ok('target', `folder ${target.folder}`);
    const { checkFolder } = await import('./doctor/check-folder.ts');
    yield* checkFolder(target.folder, () => session.openTarget());
  } else {
    const from = target.stack === undefined ? '' : ` of stack "${target.stack}"`;
    yield ok('target', `table "${target.table}" and bucket "${target.bucket}"${from}`);
    const { checkAws } = await import('./doctor/check-aws.ts');
    yield* checkAws(target, session.targetOptions.tenant ?? 'default', session.terminal.now);
    const { checkNotifications } = await import('./doctor/check-notifications.ts');
    yield await checkNotifications(() => session.openTarget());
  }
}

/** Finds the target; a stack that cannot be found is a finding too. */
async function findTarget({ targetOptions, terminal }: Session): Promise<FolderTarget | AwsTarget | Finding> {
  try {
    return await resolveTarget(targetOptions, terminal.environment);
  } catch (error) {
    if (!isWaitstateError(error)) throw error;
    const at = error.message.indexOf('. ');
    const found = at < 0 ? error.message : error.message.slice(0, at);
    return fail('target', found, at < 0 ? 'Check --stack, --region and --profile.' : error.message.slice(at + 2));
  }
}

const MARKS: Readonly<Record<Finding['status'], readonly [mark: string, style: Style]>> = {
  ok: ['✓', 'green'],
  warn: ['!', 'yellow'],
  fail: ['✗', 'red'],
};

const CHECK_WIDTH = 13;

function findingLines({ check, status, found, fix }: Finding, columns: number): readonly Line[] {
  const [mark, style] = MARKS[status];
  const room = columns - CHECK_WIDTH - 3;
  const [first = '', ...rest] = wrapText(found, room);
  const below = (text: string): string => `${' '.repeat(CHECK_WIDTH + 3)}${text}`;
  return [
    [styled(style, `${mark} `), check.padEnd(CHECK_WIDTH + 1), status === 'ok' ? first : styled(style, first)],
    ...rest.map((line) => (status === 'ok' ? below(line) : styled(style, below(line)))),
    ...(fix === undefined ? [] : wrapText(fix, room).map((line) => dim(below(line)))),
  ];
}

function summary(counts: Readonly<Record<Finding['status'], number>>): Line {
  if (counts.fail + counts.warn === 0) return styled('green', 'No problems found.');
  const parts = [
    ...(counts.fail > 0 ? [pluralize(counts.fail, 'problem')] : []),
    ...(counts.warn > 0 ? [pluralize(counts.warn, 'warning')] : []),
  ];
  return styled(counts.fail > 0 ? 'red' : 'yellow', `${parts.join(', ')}.`);
}
