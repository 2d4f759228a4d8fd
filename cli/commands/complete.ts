import type { Command, Option } from 'commander';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import { hasEnded, STATUSES, type Status } from '../../lambda/core/status.ts';
import type { CommonOptions, Session } from '../session.ts';
import { escapeControls, hasNoControls } from '../terminal/escape-controls.ts';

/** A completion, with its description. */
interface Candidate {
  readonly word: string;
  readonly description: string;
}

/** Prints the completions of the last word, one on each line: the word, a tab, its description. */
export async function complete(session: Session, program: Command, words: readonly string[]): Promise<void> {
  const last = words.at(-1) ?? '';
  const found = await candidates(session, program, words.slice(0, -1), last);
  const lines = found
    .filter(({ word }) => word.startsWith(last) && hasNoControls(word))
    .map(({ word, description }) => `${word}\t${escapeControls(description)}\n`);
  await session.terminal.write(lines.join(''));
}

async function candidates(
  session: Session,
  program: Command,
  before: readonly string[],
  last: string,
): Promise<readonly Candidate[]> {
  const command = program.commands.find((each) => each.name() === before[0]);
  if (!command)
    return before.length > 0 ? [] : last.startsWith('-') ? optionCandidates(program) : commandCandidates(program);
  const option = command.options.find((each) => matchesFlag(each, before.at(-1)));
  if (option && (option.required || option.optional)) return valueCandidates(option);
  if (last.startsWith('-')) return optionCandidates(command);
  return argumentCandidates(session, command, before.slice(1));
}

const matchesFlag = ({ short, long }: Option, word: string | undefined): boolean =>
  word !== undefined && (word === short || word === long);

const commandCandidates = (program: Command): readonly Candidate[] =>
  program
    .createHelp()
    .visibleCommands(program)
    .map((each) => ({ word: each.name(), description: each.summary() || each.description() }));

const optionCandidates = (command: Command): readonly Candidate[] =>
  command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, description }) => (long ? [{ word: long, description }] : []));

const valueCandidates = ({ argChoices, long }: Option): readonly Candidate[] =>
  (argChoices ?? (long === '--status' ? STATUSES : [])).map((word) => ({ word, description: '' }));

/** The runs of the folder, if the argument is a run. Runs of a stack are not offered: reading them is too slow here. */
async function argumentCandidates(
  session: Session,
  command: Command,
  typed: readonly string[],
): Promise<readonly Candidate[]> {
  const given = positionalArguments(command, typed);
  const argument = command.registeredArguments[given.length];
  if (argument?.argChoices) return argument.argChoices.map((word) => ({ word, description: '' }));
  if (argument?.name() !== 'run' || typed.includes('--stack')) return [];
  return runCandidates(
    session,
    STATUSES_BY_COMMAND[command.name()],
    typedOption(typed, '--folder'),
    typedOption(typed, '--tenant'),
  );
}

const typedOption = (typed: readonly string[], flag: string): string | undefined =>
  typed.includes(flag) ? typed[typed.indexOf(flag) + 1] : undefined;

/** The words that are neither options nor values of options. */
function positionalArguments(command: Command, typed: readonly string[]): readonly string[] {
  const takesValue = (word = '') =>
    command.options.some((option) => matchesFlag(option, word) && (option.required || option.optional));
  return typed.filter((word, i) => !word.startsWith('-') && !takesValue(typed[i - 1]));
}

const MAX_RUNS = 100;

/** The statuses of the runs that a command applies to. */
const STATUSES_BY_COMMAND: { readonly [command: string]: readonly Status[] } = {
  ...Object.fromEntries(
    ['approve', 'reject', 'answer', 'remind', 'withdraw'].map((name) => [name, ['WAITING_FOR_APPROVAL']]),
  ),
  retry: ['FAILED'],
  cancel: STATUSES.filter((status) => !hasEnded(status)),
  signal: STATUSES.filter((status) => !hasEnded(status)),
};

async function runCandidates(
  { terminal }: Session,
  status: readonly Status[] | undefined,
  folder?: string,
  tenant?: string,
): Promise<readonly Candidate[]> {
  const { WAITSTATE_TABLE: table, WAITSTATE_BUCKET: bucket } = terminal.environment;
  if (folder === undefined && (table || bucket)) return [];
  const options: CommonOptions = { ...(folder !== undefined && { folder }), ...(tenant !== undefined && { tenant }) };
  const [{ resolveTarget }, { openTarget }] = await Promise.all([
    import('../target/resolve-target.ts'),
    import('../target/open-target.ts'),
  ]);
  try {
    const target = await openTarget(await resolveTarget(options, terminal.environment), { tenant, log: () => {} });
    try {
      const { runs } = await target.operator.runs({ limit: MAX_RUNS, ...omitUndefined({ status }) });
      return runs.map(({ run, status, agent = '' }) => ({ word: run, description: `${status} ${agent}`.trim() }));
    } finally {
      await target.close();
    }
  } catch {
    // No error messages while the user types.
    return [];
  }
}
