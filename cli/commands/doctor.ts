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

/** Looks at the set-up, part by part, and says how to mend what is wrong; exit code 1 when something is. */
export async function doctor(session: Session, nodeVersion = process.versions.node): Promise<ExitCode> {
  const { terminal, isJson } = session;
  const counts = { ok: 0, warn: 0, fail: 0 };
  for await (const finding of findings(session, nodeVersion)) {
    counts[finding.status] += 1;
    if (isJson) await terminal.write(`${jsonText(finding)}\n`);
    else terminal.print(...linesOf(finding, Math.min(terminal.columns, 100)));
  }
  if (!isJson) terminal.print('', summary(counts));
  return counts.fail > 0 ? EXIT.failed : EXIT.ok;
}

async function* findings(session: Session, nodeVersion: string): AsyncGenerator<Finding> {
  yield checkNode(nodeVersion);
  const place = await find(session);
  if ('status' in place) return yield place;
  if (place.kind === 'folder') {
    yield ok('place', `the folder ${place.folder}`);
    const { checkFolder } = await import('./doctor/check-folder.ts');
    yield* checkFolder(place.folder, () => session.openTarget());
  } else {
    const from = place.stack === undefined ? '' : ` of stack "${place.stack}"`;
    yield ok('place', `the table "${place.table}" and the bucket "${place.bucket}"${from}`);
    const { checkAws } = await import('./doctor/check-aws.ts');
    yield* checkAws(place, session.terminal.now);
  }
}

/** Where the runs are; a stack that cannot be found is a finding, too. */
async function find({ targetOptions: where, terminal }: Session): Promise<FolderTarget | AwsTarget | Finding> {
  try {
    return await resolveTarget(where, terminal.environment);
  } catch (error) {
    if (!isWaitstateError(error)) throw error;
    const at = error.message.indexOf('. ');
    const found = at < 0 ? error.message : error.message.slice(0, at);
    return fail('place', found, at < 0 ? 'Check --stack, --region and --profile.' : error.message.slice(at + 2));
  }
}

const MARKS: Readonly<Record<Finding['status'], readonly [mark: string, style: Style]>> = {
  ok: ['✓', 'green'],
  warn: ['!', 'yellow'],
  fail: ['✗', 'red'],
};

const WIDTH = 13;

function linesOf({ check, status, found, mend }: Finding, columns: number): readonly Line[] {
  const [mark, style] = MARKS[status];
  const room = columns - WIDTH - 3;
  const [first = '', ...rest] = wrapText(found, room);
  const below = (text: string): string => `${' '.repeat(WIDTH + 3)}${text}`;
  return [
    [styled(style, `${mark} `), check.padEnd(WIDTH + 1), status === 'ok' ? first : styled(style, first)],
    ...rest.map((line) => (status === 'ok' ? below(line) : styled(style, below(line)))),
    ...(mend === undefined ? [] : wrapText(mend, room).map((line) => dim(below(line)))),
  ];
}

function summary(counts: Readonly<Record<Finding['status'], number>>): Line {
  if (counts.fail + counts.warn === 0) return styled('green', 'All is well.');
  const parts = [
    ...(counts.fail > 0 ? [pluralize(counts.fail, 'problem')] : []),
    ...(counts.warn > 0 ? [pluralize(counts.warn, 'warning')] : []),
  ];
  return styled(counts.fail > 0 ? 'red' : 'yellow', `${parts.join(', ')}.`);
}
